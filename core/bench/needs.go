package main

import (
	"context"
	"fmt"
	"math"
)

// needs computes from the figures of this run what 10,000 requests per second need.
func needs(_ context.Context, b *bench, s scenario) error {
	const (
		requests  = 10_000.0
		bookings  = requests / 5
		lists     = requests - bookings
		trip      = 0.4               // seconds that a provider takes
		googles   = 10_000.0 / 60     // requests per second of a project
		rowsADay  = bookings * 86_400 // of intents
		keptHours = 72.0
	)
	name := b.binaries[0].name
	list := b.report.value("list", "CPU per request", name)
	book := b.report.value("book", "16 callers: CPU per booking", name)
	commit := b.report.value("book", "16 callers: bookings per second", name)
	if math.IsNaN(list) || math.IsNaN(book) {
		b.report.tables[s.name] = "It needs the scenarios list and book in the same run.\n"
		return nil
	}
	cores := (lists*list + bookings*book) / 1e6
	b.report.tables[s.name] = fmt.Sprintf(`- **Processors**: %s × %s for lists and %s × %s for bookings are
  %.1f processors, busy all the time. At half load, that is %.0f processors: %.0f replicas with two each, and
  one more for the loss of one.
- **Bookings**: one SQLite file took %s here. 2,000 a second need PostgreSQL, or several gateways that each
  have their own tenants.
- **Rows**: %s intents a day, kept for %.0f hours: %s million.
- **Waiting**: at a provider that takes 400 ms, %s requests are in progress at any time. The default of
  `+"`limits.max_in_flight`"+` is 1,024 per replica.
- **Quotas**: at Google alone, %.0f projects' worth of requests. This is what decides.
`, grouped(lists), number(list, microseconds), grouped(bookings), number(book, microseconds), cores,
		math.Ceil(2*cores), math.Ceil(cores), number(commit, perSecond), grouped(rowsADay), keptHours,
		number(rowsADay*keptHours/24/1e6, ""), grouped(requests*trip), math.Ceil(requests/googles))
	return nil
}
