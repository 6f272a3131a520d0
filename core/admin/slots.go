package admin

import (
	"context"
	"maps"
	"slices"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/service"
)

// SlotRules are rules for slots by the names of their settings, in the place of the stored ones.
type SlotRules struct {
	Tenant     string
	Connection string         // whose rules they are; "": the tenant's
	Rules      map[string]any // nil: the stored rules count
}

// SlotPreview is what find-slots would answer, with every slot that it chose from.
type SlotPreview = service.SlotPreview

// previewWithin bounds how long a preview waits for the provider.
const previewWithin = 8 * time.Second

// PreviewSlots returns what find-slots would answer with the rules: at the connection, or at the tenant's
// default calendar if none is named. It changes nothing.
func (s *Service) PreviewSlots(
	ctx context.Context, c apikey.Caller, given SlotRules,
) (SlotPreview, error) {
	t, err := s.tenant(ctx, c, given.Tenant)
	if err != nil {
		return SlotPreview{}, err
	}
	all, err := s.opts.Connections.List(ctx, given.Tenant)
	if err != nil {
		return SlotPreview{}, err
	}
	at := slices.IndexFunc(all, func(c connection.Connection) bool {
		return c.Kind == adapter.KindCalendar &&
			(c.Name == given.Connection || given.Connection == "" && c.IsDefault)
	})
	as := apikey.Caller{Tenant: t, Connections: connection.Set{}}
	switch {
	case at >= 0:
		as.Connections[adapter.KindCalendar] = all[at]
	case given.Connection != "":
		return SlotPreview{}, connection.NotFound(given.Tenant, given.Connection)
	}
	settings := maps.Clone(as.Connections[adapter.KindCalendar].Settings)
	switch {
	case given.Rules == nil:
	case given.Connection == "":
		merged, faults := t.Settings.Merge("settings.", given.Rules)
		if len(faults) > 0 {
			return SlotPreview{}, fault.InvalidFields(faults...)
		}
		t.Settings = merged
	default:
		settings = adapter.WithSlots(settings, given.Rules)
	}
	defaults, err := adapter.SlotDefaults(settings)
	if err != nil {
		return SlotPreview{}, err
	}
	ofConnection, _ := defaults.Rules()
	ctx, cancel := context.WithTimeout(ctx, previewWithin)
	defer cancel()
	return s.opts.Calendar.PreviewSlots(ctx, as, service.FindSlots{
		Rules: ofConnection.Or(t.Settings.SlotRules()).Complete(),
	})
}
