package admin

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"

	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/service"
	"frontdesk/core/store"
)

// Write is what a call has besides its input: an Idempotency-Key.
type Write = service.Write

// creation is a call that creates something of type M, of which the caller sees an A.
type creation[M, A any] struct {
	operation string // keys of different operations are different
	input     any    // what a repeat has in common with the call
	create    func(ctx context.Context) (secret string, made M, err error)
	shown     func(secret string, made M) A
}

// once carries out a creation, or returns the answer of an earlier call with the same Idempotency-Key. The
// answer is stored in one transaction with what is created, so a call that was cut off has done both or neither.
// Keys are those of the actor: a repeat comes from the same key of the admin interface.
func once[M, A any](
	ctx context.Context, s *Service, w Write, c creation[M, A],
) (service.Answer[A], error) {
	if w.IdempotencyKey == "" {
		secret, made, err := c.create(ctx)
		return answerOf(c.shown(secret, made), err)
	}
	request, err := json.Marshal(c.input)
	if err != nil {
		return service.Answer[A]{}, err
	}
	hash := sha256.Sum256(request)
	row := store.Creation{
		Actor: audit.Actor(ctx), Operation: c.operation, Key: w.IdempotencyKey, RequestHash: hash[:],
		CreatedAt: s.opts.Now(),
	}
	if earlier, found, err := replay[A](ctx, s, row); found || err != nil {
		return earlier, err
	}
	var answer service.Answer[A]
	recording := store.RecordCreation(ctx, row, func(made M, secret string) (body []byte, err error) {
		answer, err = answerOf(c.shown(secret, made), nil)
		return answer.Body, err
	})
	_, _, err = c.create(recording)
	if errors.Is(err, fault.Conflict) { // perhaps with an equal call at the same time
		if earlier, found, failed := replay[A](ctx, s, row); found || failed != nil {
			return earlier, failed
		}
	}
	if err != nil {
		return service.Answer[A]{}, err
	}
	return answer, nil
}

// replay returns the answer of an earlier call with the same key, and reports whether there is one.
func replay[A any](ctx context.Context, s *Service, row store.Creation) (service.Answer[A], bool, error) {
	var answer service.Answer[A]
	there, found, err := s.opts.Store.Creation(ctx, row.Actor, row.Operation, row.Key)
	switch {
	case err != nil || !found:
		return answer, false, err
	case row.CreatedAt.Sub(there.CreatedAt) >= s.opts.KeepAnswers:
		return answer, false, s.opts.Store.DropCreation(ctx, there)
	case string(there.RequestHash) != string(row.RequestHash):
		return answer, true, service.KeyReused()
	}
	answer.Body, answer.Replayed = there.Answer, true
	return answer, true, json.Unmarshal(there.Answer, &answer.Record)
}

// answerOf returns the first answer to a call that ended with err.
func answerOf[A any](record A, err error) (service.Answer[A], error) {
	if err != nil {
		return service.Answer[A]{}, err
	}
	body, err := json.Marshal(record)
	return service.Answer[A]{Record: record, Body: body}, err
}
