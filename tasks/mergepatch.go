package tasks

import "encoding/json"

// MergePatch merges a patch into parameters as RFC 7396 has it: what the patch names is set, what it names with null is
// removed, objects are merged member by member and everything else is replaced. Numbers keep their digits; the members
// of the outcome are sorted by name. Both must be JSON objects, else the error is an *InvalidError.
func MergePatch(params, patch json.RawMessage) (json.RawMessage, error) {
	target, ok := readValue(string(params))
	if _, is := target.(map[string]any); !ok || !is {
		return nil, Invalid("", "object")
	}
	change, ok := readValue(string(patch))
	if _, is := change.(map[string]any); !ok || !is {
		return nil, Invalid("", "object")
	}
	return json.RawMessage(writeValue(merged(target, change))), nil
}

func merged(target, patch any) any {
	change, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	object, ok := target.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	for name, v := range change {
		if v == nil {
			delete(object, name)
		} else {
			object[name] = merged(object[name], v)
		}
	}
	return object
}
