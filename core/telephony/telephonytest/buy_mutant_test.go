package telephonytest

import (
	"context"
	"strings"
	"sync"
	"time"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

func buyMutants() []conformance.Mutant[Harness] {
	const (
		exact    = "Buy buys exactly the number ordered"
		reads    = "a number bought reads back as it was answered"
		name     = "Buy keeps the name, or leaves it to Change"
		url      = "Buy points the number at a voice URL, or leaves that to Change"
		app      = "Buy points the number at an application, or leaves that to Change"
		trunk    = "Buy points the number at a SIP trunk, or leaves that to Change"
		standard = "Buy without routing leaves the provider's default"
		taken    = "a number that someone else took is NUMBER_TAKEN"
		nobody   = "a number that nobody sells is not bought"
	)
	anything := func(ctx context.Context, d telephony.Driver, o telephony.Order) (telephony.Number, error) {
		offers, err := d.Search(ctx, telephony.Search{AreaCode: "415", Limit: 1})
		if err != nil {
			return telephony.Number{}, err
		}
		o.E164 = offers[0].E164
		return d.Buy(ctx, o)
	}
	unrouted := func(ctx context.Context, d telephony.Driver, o telephony.Order) (telephony.Number, error) {
		to := o.Routing
		o.Routing = telephony.Routing{}
		n, err := d.Buy(ctx, o)
		n.Routing = to
		return n, err
	}
	forgets := func(check, how string) conformance.Mutant[Harness] {
		return mutate(check, how, func(d telephony.Driver) mutant {
			return mutant{
				buy: func(ctx context.Context, o telephony.Order) (telephony.Number, error) {
					o.Routing = telephony.Routing{}
					return d.Buy(ctx, o)
				},
				change: func(ctx context.Context, ref string, c telephony.Change) (telephony.Number, error) {
					c.Routing = nil
					return d.Change(ctx, ref, c)
				},
			}
		})
	}
	return []conformance.Mutant[Harness]{
		buys(exact, "buys whatever comes first", anything),
		buys(exact, "buys whatever comes first, and does not say so", func(
			ctx context.Context, d telephony.Driver, o telephony.Order,
		) (telephony.Number, error) {
			n, err := anything(ctx, d, o)
			n.E164 = o.E164
			return n, err
		}),
		buys(exact, "tells no reference", func(
			ctx context.Context, d telephony.Driver, o telephony.Order,
		) (telephony.Number, error) {
			n, err := d.Buy(ctx, o)
			n.Ref = ""
			return n, err
		}),
		buys(reads, "answers the order's reference", func(
			ctx context.Context, d telephony.Driver, o telephony.Order,
		) (telephony.Number, error) {
			n, err := d.Buy(ctx, o)
			n.Ref = "order-1"
			return n, err
		}),
		mutate(reads, "lists it later", func(telephony.Driver) mutant {
			return mutant{numbers: func(context.Context, telephony.Query) (telephony.Page, error) {
				return telephony.Page{}, nil
			}}
		}),
		alters(name, "tells the number as its name", func(n *telephony.Number) { n.Name = n.E164 }),
		buys(name, "only says so", func(
			ctx context.Context, d telephony.Driver, o telephony.Order,
		) (telephony.Number, error) {
			name := o.Name
			o.Name = o.E164
			n, err := d.Buy(ctx, o)
			n.Name = name
			return n, err
		}),
		alters(name, "cuts it short", func(n *telephony.Number) { n.Name = n.Name[:min(len(n.Name), 20)] }),
		buys(url, "leads it elsewhere", func(
			ctx context.Context, d telephony.Driver, o telephony.Order,
		) (telephony.Number, error) {
			o.Routing.VoiceURL = "https://own.example.com"
			return d.Buy(ctx, o)
		}),
		forgets(url, "forgets it, and so does Change"),
		buys(url, "only says so", unrouted),
		alters(url, "escapes it once more",
			func(n *telephony.Number) { n.Routing.VoiceURL = strings.ReplaceAll(n.Routing.VoiceURL, "%", "%25") }),
		forgets(app, "forgets it, and so does Change"),
		buys(app, "only says so", unrouted),
		buys(app, "takes it for a trunk", func(
			ctx context.Context, d telephony.Driver, o telephony.Order,
		) (telephony.Number, error) {
			o.Routing = telephony.Routing{SIPTrunk: o.Routing.Application}
			return d.Buy(ctx, o)
		}),
		buys(trunk, "takes it for a URL", func(
			ctx context.Context, d telephony.Driver, o telephony.Order,
		) (telephony.Number, error) {
			if o.Routing.SIPTrunk != "" {
				o.Routing = telephony.Routing{VoiceURL: o.Routing.SIPTrunk}
			}
			return d.Buy(ctx, o)
		}),
		buys(trunk, "only says so", unrouted),
		buys(standard, "routes it itself", func(
			ctx context.Context, d telephony.Driver, o telephony.Order,
		) (telephony.Number, error) {
			o.Routing.VoiceURL = "https://own.example.com"
			return d.Buy(ctx, o)
		}),
		buys(taken, "takes another", anything),
		buys(taken, "finds the number wrong", func(
			ctx context.Context, d telephony.Driver, o telephony.Order,
		) (telephony.Number, error) {
			n, err := d.Buy(ctx, o)
			if err != nil {
				return n, fault.New(fault.Invalid, fault.ReasonProviderRefused, "21422")
			}
			return n, nil
		}),
		buys(taken, "does not say why", func(
			ctx context.Context, d telephony.Driver, o telephony.Order,
		) (telephony.Number, error) {
			n, err := d.Buy(ctx, o)
			if err != nil {
				return n, fault.New(fault.Conflict, fault.ReasonProviderConflict, "It conflicts.")
			}
			return n, nil
		}),
		buys(nobody, "takes another", anything),
		buys(nobody, "blames the provider", func(
			ctx context.Context, d telephony.Driver, o telephony.Order,
		) (telephony.Number, error) {
			n, err := d.Buy(ctx, o)
			if err != nil {
				return n, fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "It is down.")
			}
			return n, nil
		}),
		alters("only an asynchronous provider answers a number that is pending", "waits for the order",
			func(n *telephony.Number) { n.Pending = true }),
	}
}

func keyMutants() []conformance.Mutant[Harness] {
	const (
		keys      = "a key may have 1 to 64 characters"
		again     = "a second Buy of one key answers the number held"
		lostReply = "a Buy whose reply is lost is not called unsent, and can be settled"
	)
	limits := func(how string, fits func(key string) bool) conformance.Mutant[Harness] {
		return buys(keys, how, func(
			ctx context.Context, d telephony.Driver, o telephony.Order,
		) (telephony.Number, error) {
			if !fits(o.Key) {
				return telephony.Number{}, fault.InvalidField("key", "does not fit.")
			}
			return d.Buy(ctx, o)
		})
	}
	return []conformance.Mutant[Harness]{
		limits("refuses long ones", func(key string) bool { return len(key) <= 36 }),
		limits("refuses short ones", func(key string) bool { return len(key) >= 5 }),
		buys(again, "calls it taken", func(
			ctx context.Context, d telephony.Driver, o telephony.Order,
		) (telephony.Number, error) {
			o.Key = newKey()
			return d.Buy(ctx, o)
		}),
		mutate(again, "answers another reference", func(d telephony.Driver) mutant {
			bought := 0
			return mutant{buy: func(ctx context.Context, o telephony.Order) (telephony.Number, error) {
				n, err := d.Buy(ctx, o)
				if bought++; bought > 1 {
					n.Ref += "-again"
				}
				return n, err
			}}
		}),
		mutate("a second Buy of one key costs nothing", "releases it and buys it again", func(
			d telephony.Driver,
		) mutant {
			return mutant{buy: func(ctx context.Context, o telephony.Order) (telephony.Number, error) {
				n, err := d.Buy(ctx, o)
				if err != nil {
					return n, err
				}
				if err := d.Release(ctx, n.Ref); err != nil {
					return n, err
				}
				return d.Buy(ctx, o)
			}}
		}),
		mutate("Buys of one key at one time buy one number", "looks before it buys", func(
			d telephony.Driver,
		) mutant {
			var mu sync.Mutex
			bought := 0
			return mutant{buy: func(ctx context.Context, o telephony.Order) (telephony.Number, error) {
				time.Sleep(time.Millisecond)
				mu.Lock()
				defer mu.Unlock()
				bought++
				o.Key, o.E164 = newKey(), stock("415")[bought%5]
				return d.Buy(ctx, o)
			}}
		}),
		buys(lostReply, "says that nothing was sent", func(
			ctx context.Context, d telephony.Driver, o telephony.Order,
		) (telephony.Number, error) {
			n, err := d.Buy(ctx, o)
			if f := fault.From(err); f != nil {
				unsent := *f
				unsent.Unsent = true
				return n, &unsent
			}
			return n, nil
		}),
		buys(lostReply, "says that it was taken", func(
			ctx context.Context, d telephony.Driver, o telephony.Order,
		) (telephony.Number, error) {
			n, err := d.Buy(ctx, o)
			if err != nil {
				return n, fault.New(fault.Conflict, fault.ReasonNumberTaken, "It was taken.")
			}
			return n, nil
		}),
		orders(lostReply, "knows an order by its answer alone", func(
			context.Context, telephony.Driver, telephony.Order,
		) (telephony.Number, error) {
			return telephony.Number{}, noNumber()
		}),
		mutate(lostReply, "does not list it", func(telephony.Driver) mutant {
			return mutant{numbers: func(context.Context, telephony.Query) (telephony.Page, error) {
				return telephony.Page{}, nil
			}}
		}),
		mutate(lostReply, "does not know the order again", func(d telephony.Driver) mutant {
			tries := 0
			return mutant{buy: func(ctx context.Context, o telephony.Order) (telephony.Number, error) {
				if tries++; tries > 1 {
					o.Key = newKey()
				}
				return d.Buy(ctx, o)
			}}
		}),
	}
}
