package hubspot

import (
	"context"
	"net/http"
	"net/url"

	"frontdesk/core/adapter"
)

var (
	_ adapter.SetupChecker = (*driver)(nil)
	_ adapter.SetupChecker = (*keyed)(nil)
)

// CheckSetup looks at the pipeline, at the setting's properties, and at the scopes by what they allow.
func (d *driver) CheckSetup(ctx context.Context) error {
	list, err := d.askPipelines(ctx)
	if err != nil {
		return err
	}
	if _, err := d.selectPipeline(list); err != nil {
		return err
	}
	if err := d.checkFields(ctx); err != nil {
		return err
	}
	var page struct{}
	query := url.Values{"limit": {"1"}, "associations": {"contacts,companies"}}
	if err := d.get(ctx, d.objects(), query, &page); err != nil {
		return err
	}
	return d.mayWrite(ctx)
}

// CheckSetup looks at the property for keys anew as well.
func (k *keyed) CheckSetup(ctx context.Context) error {
	k.unique.Store(false)
	if err := k.fit(ctx); err != nil {
		return err
	}
	return k.driver.CheckSetup(ctx)
}

// mayWrite reports whether tickets may be made, by a change to nothing of a ticket that there is not. The
// same scope allows both
// (developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/scopes); without it the
// refusal is 403 (developers.hubspot.com/docs/api-reference/error-handling). What a token may do is else told
// only to who sends the token itself, which a driver never has.
func (d *driver) mayWrite(ctx context.Context) error {
	const noTicket = "/0"
	var none record
	empty := creation{Properties: map[string]string{}}
	err := d.ask(ctx, http.MethodPatch, d.objects()+noTicket, empty, &none)
	if hasStatus(err, http.StatusNotFound, http.StatusBadRequest) {
		return nil
	}
	return err
}
