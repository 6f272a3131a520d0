// Command backend is what stands behind a voice agent, reduced to a script: a caller asks for a time, hears two,
// takes the second, moves the appointment, and cancels it. What the agent says is what the gateway gives it to
// say. A real backend has a language model in the place of the script.
//
//	go run ./deploy/examples/backend --url http://127.0.0.1:8080 --key "$FRONTDESK_API_KEY"
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"frontdesk/deploy/clients/frontdesk"
)

func main() {
	url := flag.String("url", "http://127.0.0.1:8080", "where the gateway is")
	key := flag.String("key", os.Getenv("FRONTDESK_API_KEY"), "an API key of the gateway")
	number := flag.String("caller", "+12025550101", "the number that the telephone call comes from")
	flag.Parse()
	c := call{desk: frontdesk.Client{URL: *url, Key: *key}, number: *number, out: os.Stdout}
	if err := c.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// call is one telephone call.
type call struct {
	desk   frontdesk.Client
	number string // as the telephony provider tells it
	out    io.Writer
}

// patience is how long a caller waits in silence.
const patience = 4 * time.Second

func (c call) run(ctx context.Context) error {
	c.says("agent", "Maple Dental, how can I help?")
	c.says("caller", "I would like an appointment this month.")
	found, err := ask(ctx, func(ctx context.Context) (frontdesk.SlotsAnswer, error) {
		return c.desk.FindSlots(ctx, frontdesk.FindSlotsRequest{DurationMinutes: new(int64(30)),
			Limit: new(int64(2))})
	})
	if err != nil {
		return c.fail(err)
	}
	c.says("agent", found.Say)
	if len(found.Slots) < 2 {
		return nil // nothing to choose from
	}

	c.says("caller", "The second one, please.")
	booked, err := c.book(ctx, found.Slots[1])
	if err != nil {
		return c.fail(err)
	}
	c.says("agent", booked.Say)

	c.says("caller", "Oh, could I have the other one?")
	moved, err := ask(ctx, func(ctx context.Context) (frontdesk.BookedAnswer, error) {
		return c.desk.MoveMeeting(ctx, frontdesk.MoveMeetingRequest{
			MeetingReference: &booked.MeetingReference, SlotID: &found.Slots[0].SlotID,
		})
	})
	if err != nil {
		return c.fail(err)
	}
	c.says("agent", moved.Say)

	c.says("caller", "I am sorry, I cannot come at all.")
	cancelled, err := ask(ctx, func(ctx context.Context) (frontdesk.CancelledAnswer, error) {
		return c.desk.CancelByReference(ctx, booked.MeetingReference)
	})
	if err != nil {
		return c.fail(err)
	}
	c.says("agent", cancelled.Say)
	return nil
}

// book holds a slot while the caller says a name, and then books it.
func (c call) book(ctx context.Context, s frontdesk.Slot) (frontdesk.BookedAnswer, error) {
	held, err := ask(ctx, func(ctx context.Context) (frontdesk.HoldAnswer, error) {
		return c.desk.HoldSlot(ctx, frontdesk.HoldSlotRequest{SlotID: &s.SlotID, PhoneNumber: &c.number})
	})
	if err != nil {
		return frontdesk.BookedAnswer{}, err
	}
	c.says("agent", held.Say+" What is your name?")
	c.says("caller", "Pat Doe.")
	return ask(ctx, func(ctx context.Context) (frontdesk.BookedAnswer, error) {
		return c.desk.BookSlot(ctx, frontdesk.BookSlotRequest{
			HoldID: &held.HoldID, Title: new("Consultation: Pat Doe"), PhoneNumber: &c.number,
		})
	})
}

// ask bounds a question by the caller's patience.
func ask[Answer any](ctx context.Context, question func(context.Context) (Answer, error)) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return question(ctx)
}

// fail says what the gateway gives to say about a failure, and leaves the rest for the log.
func (c call) fail(err error) error {
	if failed, is := errors.AsType[*frontdesk.Error](err); is && failed.Say != "" {
		c.says("agent", failed.Say)
	} else {
		c.says("agent", "I am sorry, I cannot do that right now. Someone will call you back.")
	}
	return err
}

func (c call) says(who, text string) { fmt.Fprintf(c.out, "%-7s %s\n", who+":", text) }
