package web

import (
	"strings"

	"reax/models"
)

// The least role that a route needs, as routes and pageRoutes name it.
const (
	anyone   models.Role = ""
	viewer               = models.RoleViewer
	operator             = models.RoleOperator
	admin                = models.RoleAdmin
)

// tokenScheme is what the OpenAPI document calls the tokens.
const tokenScheme = "token"

// allow notes the least role that may use a route. path is as Echo writes it, without the base path. It panics on a route
// that is named twice.
func (s *Server) allow(least models.Role, method, path string) {
	route := method + " " + s.base + path
	if _, twice := s.roles[route]; twice {
		panic("web: the route " + route + " is registered twice")
	}
	s.roles[route] = least
}

// routePath is the path of an operation in Echo's way of writing it: /tasks/{id} is /tasks/:id.
func routePath(path string) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(path)
}

// requireRoles panics when there is a route that no role was named for: nobody would be kept from it.
func (s *Server) requireRoles() {
	for _, r := range s.echo.Routes() {
		if _, named := s.roles[r.Method+" "+r.Path]; !named {
			panic("web: no role is named for the route " + r.Method + " " + r.Path)
		}
	}
}
