package webhook

import (
	"context"

	"frontdesk/core/store"
)

// GiveUp is the time after which a delivery is given up.
const GiveUp = giveUp

// LeaseFor is how long a killed process's deliveries wait.
const LeaseFor = leaseFor

// AtOncePerWebhook is how many attempts at one webhook a process makes at a time.
const AtOncePerWebhook = atOncePerWebhook

// Drain sends until nothing is due.
func (s *Sender) Drain(ctx context.Context) error {
	for {
		begun, err := s.round(ctx)
		s.running.Wait()
		if begun == 0 || err != nil {
			return err
		}
	}
}

// Begin begins what is due, and does not wait for it.
func (s *Sender) Begin(ctx context.Context) error {
	_, err := s.round(ctx)
	return err
}

// Wait waits for what was begun.
func (s *Sender) Wait() { s.running.Wait() }

// SendOnly sends a delivery, and records nothing, as a process that is killed afterwards.
func (s *Sender) SendOnly(ctx context.Context, w store.Webhook, d store.Delivery) Outcome {
	return s.poster.post(ctx, w, d.ID, d.Payload)
}

// Write stores the changes that were noted, as Run does.
func (h *Health) Write(ctx context.Context) {
	h.learn(ctx)
	h.write(ctx)
}
