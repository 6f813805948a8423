package tasks

// NoticeType is the task type that sends messages about alerts. What becomes of its own tasks is never an alert.
const NoticeType = "reax.alert"

// The events that a Notice tells of.
const (
	NoticeBegin  = "begin"
	NoticeRepeat = "repeat"
	NoticeEnd    = "end"
	NoticeTest   = "test"
)

// Notice is the parameters of a task of NoticeType: what a message tells, and to whom. It holds no address and no secret.
type Notice struct {
	Receiver string      `json:"receiver" jsonschema:"required,title=Receiver,description=The name of a receiver in the configuration,minLength=1,maxLength=100"`
	Event    string      `json:"event" jsonschema:"required,title=Event,enum=begin,enum=repeat,enum=end,enum=test"`
	Alert    int64       `json:"alert,omitempty" jsonschema:"title=Alert"`
	Rule     string      `json:"rule,omitempty" jsonschema:"title=Rule,maxLength=100"`
	Kind     string      `json:"kind,omitempty" jsonschema:"title=Kind,maxLength=100"`
	Since    string      `json:"since,omitempty" jsonschema:"title=Since,format=date-time"`
	Until    string      `json:"until,omitempty" jsonschema:"title=Until,format=date-time"`
	By       string      `json:"by,omitempty" jsonschema:"title=By,description=Who asked for a test"`
	Facts    NoticeFacts `json:"facts"`
}

// NoticeFacts are the figures of an alert. The unit of Value and Limit follows from the kind of the rule.
type NoticeFacts struct {
	Name        string `json:"name,omitempty" jsonschema:"description=A task type or a schedule"`
	Error       string `json:"error,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Task        int64  `json:"task,omitempty"`
	Count       int64  `json:"count,omitempty"`
	Value       int64  `json:"value,omitempty"`
	Limit       int64  `json:"limit,omitempty"`
	Window      int64  `json:"window,omitempty" jsonschema:"description=Seconds"`
}
