package actors

import (
	"context"

	"reax/models"
)

// WriteRecord asks the journal to write rows that no task hangs on: accounts, sessions, marks, incidents. Do runs in the
// journal's transaction together with what others ask for, perhaps more than once, and so starts from nothing each time. An
// error of it that models.IsRefusal knows is the answer, and means that it has written nothing. Answered with
// *RecordWritten or an error.
type WriteRecord struct {
	Ctx    context.Context
	Do     func(tx *models.Tx) (any, error)
	Topics []string // what Subscribe is told has changed
}

// RecordWritten is what Do gave, now durable.
type RecordWritten struct{ Value any }

// record has the journal write rows that no task hangs on, and tells subscribers of topics. See WriteRecord for what do
// may be. It fails with what do refuses, or with ErrUnavailable.
func record[T any](ctx context.Context, r *Runtime, topics []string, do func(tx *models.Tx) (T, error)) (T, error) {
	msg := &WriteRecord{Ctx: ctx, Topics: topics, Do: func(tx *models.Tx) (any, error) { return do(tx) }}
	written, err := ask[*RecordWritten](ctx, r, msg)
	if err != nil {
		var none T
		return none, err
	}
	return written.Value.(T), nil
}

// writeRecord runs one WriteRecord in the transaction of the batch.
func (b *batch) writeRecord(tx *models.Tx, o op, m *WriteRecord) error {
	value, err := m.Do(tx)
	b.records++
	switch {
	case models.IsRefusal(err):
		b.answers = append(b.answers, answer{o.sender, err})
	case err != nil:
		return err
	default:
		if with, ok := value.(interface{ Stored() []*models.NewTask }); ok { // tasks that belong to the rows
			b.inserts = append(b.inserts, with.Stored()...)
		}
		b.topics = append(b.topics, m.Topics...)
		b.answers = append(b.answers, answer{o.sender, &RecordWritten{Value: value}})
	}
	return nil
}
