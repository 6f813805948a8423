package views

// Failure is why there is no page.
type Failure struct {
	Status    int
	Code      string // stable, as the API has it
	Detail    string // in English, as the API has it; may repeat what the request said
	RequestID string
}

// kind is the part of the messages' keys: each has a title, a text and what to do.
func (f Failure) kind() string {
	switch {
	case f.Code == "unavailable":
		return "unavailable"
	case f.Code == "missing_role":
		return "role"
	case f.Status == 403:
		return "forbidden"
	case f.Status == 404:
		return "missing"
	case f.Status == 409:
		return "conflict"
	case f.Status < 500:
		return "refused"
	}
	return "internal"
}

// explains reports whether Detail says more than the messages do.
func (f Failure) explains() bool { return f.Status != 404 && f.Status < 500 }
