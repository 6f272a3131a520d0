package hubspot

import (
	"context"
	"net/http"
	"net/url"

	"frontdesk/core/adapter"
	"frontdesk/core/upstream"
)

var (
	_ adapter.SetupChecker = (*driver)(nil)
	_ adapter.SetupChecker = (*keyed)(nil)
)

// CheckSetup checks the pipeline, the setting's properties, and the scopes, by requests that need them.
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

// CheckSetup also checks the property for keys again.
func (k *keyed) CheckSetup(ctx context.Context) error {
	k.unique.Store(false)
	if err := k.fit(ctx); err != nil {
		return err
	}
	return k.driver.CheckSetup(ctx)
}

// mayWrite returns an error if the connection may not create tickets. It sends an empty change to a ticket
// that does not exist, which needs the same scope as creating one
// (developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/scopes). Without the scope
// the response is 403 (developers.hubspot.com/docs/api-reference/error-handling). Otherwise HubSpot reports
// the scopes of a token only to a client that sends the token itself, which a driver never has.
func (d *driver) mayWrite(ctx context.Context) error {
	const noTicket = "/0"
	var none record
	empty := creation{Properties: map[string]string{}}
	err := d.ask(ctx, http.MethodPatch, d.objects()+noTicket, nil, empty, &none)
	if upstream.HasStatus(err, http.StatusNotFound, http.StatusBadRequest) {
		return nil
	}
	return err
}
