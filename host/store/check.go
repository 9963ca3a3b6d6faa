package store

import "context"

// Problem is something that Check found.
type Problem struct {
	// Table and Key name the record, "" for the file as a whole.
	Table, Key string
	// Message is a sentence for a person.
	Message string
}

// Check looks for damage.
func (s *Store) Check(ctx context.Context) []Problem {
	return nil
}
