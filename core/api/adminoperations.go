package api

import (
	"net/http"
	"slices"

	"frontdesk/core/admin"
	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/tenant"
)

// Paths of the admin interface.
const (
	adminRoot       = "/alpha/admin"
	tenantsPath     = adminRoot + "/tenants"
	tenantRoot      = tenantsPath + "/{tenant}"
	connectionsPath = tenantRoot + "/connections"
	connectionRoot  = connectionsPath + "/{connection}"
	keysPath        = tenantRoot + "/keys"
	keyRoot         = keysPath + "/{key}"
	agentsPath      = tenantRoot + "/agents"
	heldPath        = tenantRoot + "/phone-numbers"
	requestsPath    = tenantRoot + "/requests"
	adminKeysPath   = adminRoot + "/keys"
)

// Groups of operations in the document of the admin interface.
const (
	tagTenants      = "Tenants"
	tagConnections  = "Connections"
	tagKeys         = "API keys"
	tagAgents       = "Voice agents"
	tagAdminNumbers = "Phone numbers"
	tagRequests     = "Requests"
	tagWebhooks     = "Webhooks"
	tagOperator     = "Gateway"
)

// adminOperations returns the declarations of the admin interface. The service may be nil if they are only
// used for documents.
func adminOperations(s Admin) []operation {
	return slices.Concat(
		ofAdmin(tagTenants, tenantOperations(s)),
		ofAdmin(tagConnections, connectionOperations(s)),
		ofAdmin(tagKeys, keyOperations(s)),
		ofAdmin(tagAgents, agentOperations(s)),
		ofAdmin(tagAdminNumbers, heldNumberOperations(s)),
		ofAdmin(tagRequests, requestOperations(s)),
		ofAdmin(tagWebhooks, webhookOperations(s)),
		ofAdmin(tagOperator, operatorOperations(s)),
	)
}

// ofAdmin completes declarations: reading needs one scope, everything else the other.
func ofAdmin(tag string, ops []operation) []operation {
	for i, op := range group(tag, "", ops) {
		switch {
		case op.Scope != "":
		case op.Method == http.MethodGet:
			ops[i].Scope = apikey.ScopeAdminRead
		default:
			ops[i].Scope = apikey.ScopeAdminWrite
		}
	}
	return ops
}

func tenantOperations(s Admin) []operation {
	return []operation{
		{
			ID: "listTenants", Method: http.MethodGet, Path: tenantsPath, Summary: "List tenants",
			Description: "Lists the tenants that the key reaches.",
			endpoint:    lookup(s, Admin.ListTenants),
		},
		{
			ID: "createTenant", Method: http.MethodPost, Path: tenantsPath, Summary: "Create a tenant",
			Description: "Creates a tenant. Only a key of the operator may.",
			Reasons:     []string{tenant.ReasonNameTaken, admin.ReasonOperatorOnly},
			endpoint:    creating(mutation(s, Admin.CreateTenant, TenantCreation.input)),
		},
		{
			ID: "getTenant", Method: http.MethodGet, Path: tenantRoot, Summary: "Get a tenant",
			Description: "Fetches one tenant.", Reasons: []string{fault.ReasonNotFound},
			endpoint: query(s, Admin.GetTenant, tenantPath.input),
		},
		{
			ID: "changeTenant", Method: http.MethodPatch, Path: tenantRoot, Summary: "Change a tenant",
			Description: "Changes the given settings of a tenant, and leaves the others alone.",
			Reasons:     []string{fault.ReasonNotFound, fault.ReasonChangedMeanwhile},
			endpoint:    query(s, Admin.ChangeTenant, TenantChange.input),
		},
		{
			ID: "exportTenant", Method: http.MethodGet, Path: tenantRoot + "/export", Summary: "Export a tenant",
			Description: "Fetches everything that is kept for a tenant, page by page: settings, connections, keys, " +
				"links, webhooks and deliveries, phone numbers, calls with what was asked and answered, requests and " +
				"the audit. Secrets are left out: credentials, tokens, keys, and the secrets of webhooks. A viewer " +
				"may not.",
			Scope:    apikey.ScopeAdminWrite,
			Reasons:  []string{fault.ReasonNotFound},
			endpoint: query(s, Admin.ExportTenant, exportQuery),
		},
		{
			ID: "deleteTenant", Method: http.MethodDelete, Path: tenantRoot, Summary: "Delete a tenant",
			Description: "Deletes a tenant with its connections, keys and records. What it has at its providers " +
				"stays there; so does the audit. Only a key of the operator may. It is refused while a released " +
				"phone number still waits to go back to its provider.",
			Reasons:  []string{fault.ReasonNotFound, admin.ReasonOperatorOnly, fault.ReasonConnectionInUse},
			endpoint: query(s, Admin.DeleteTenant, tenantPath.input),
		},
	}
}

func connectionOperations(s Admin) []operation {
	return []operation{
		{
			ID: "listConnections", Method: http.MethodGet, Path: connectionsPath, Summary: "List connections",
			Description: "Lists a tenant's connections, without their credentials.",
			Reasons:     []string{fault.ReasonNotFound},
			endpoint:    query(s, Admin.ListConnections, tenantPath.input),
		},
		{
			ID: "createConnection", Method: http.MethodPost, Path: connectionsPath, Summary: "Create a connection",
			Description: "Connects a tenant to an account at a provider. It does not ask the provider: verify " +
				"the connection afterwards. For a provider that takes a customer's consent, create a connect link.",
			Reasons:  []string{fault.ReasonNotFound, tenant.ReasonNameTaken},
			endpoint: creating(mutation(s, Admin.CreateConnection, ConnectionCreation.input)),
		},
		{
			ID: "getConnection", Method: http.MethodGet, Path: connectionRoot, Summary: "Get a connection",
			Description: "Fetches one connection.", Reasons: []string{fault.ReasonNotFound},
			endpoint: query(s, Admin.GetConnection, asGiven),
		},
		{
			ID: "changeConnection", Method: http.MethodPatch, Path: connectionRoot, Summary: "Change a connection",
			Description: "Changes a connection. Its id stays, and so does everything that is kept for it.",
			Reasons:     []string{fault.ReasonNotFound, fault.ReasonChangedMeanwhile},
			endpoint:    query(s, Admin.ChangeConnection, ConnectionChange.input),
		},
		{
			ID: "removeConnection", Method: http.MethodDelete, Path: connectionRoot, Summary: "Remove a connection",
			Description: "Removes a connection and everything that is kept for it. What is in the account at the provider " +
				"stays there, also phone numbers, which go on to cost money. It is refused while an API key is bound to the " +
				"connection, or a released phone number still waits to go back to its provider.",
			Reasons:  []string{fault.ReasonNotFound, fault.ReasonConnectionInUse},
			endpoint: query(s, Admin.RemoveConnection, asGiven),
		},
		{
			ID: "getConnectionHealth", Method: http.MethodGet, Path: connectionRoot + "/health",
			Summary: "Get a connection's health",
			Description: "Says whether the connection works, since when, and what must be done, from the requests that " +
				"used it. It does not ask the provider: verifyConnection does.",
			Reasons:  []string{fault.ReasonNotFound},
			endpoint: query(s, Admin.ConnectionHealth, asGiven),
		},
		{
			ID: "verifyConnection", Method: http.MethodPost, Path: connectionRoot + "/verify",
			Summary: "Verify a connection", Scope: apikey.ScopeAdminRead,
			Description: "Asks the provider live whether the connection works, and says what is wrong and what " +
				"to do. A connection that does not work is an answer with ok false, not an error.",
			Reasons:  []string{fault.ReasonNotFound},
			endpoint: query(s, Admin.VerifyConnection, asGiven),
		},
		{
			ID: "createConnectLink", Method: http.MethodPost, Path: tenantRoot + "/connect-links",
			Summary: "Create a connect link",
			Description: "Creates a link that a customer opens to connect an account by consent. It is valid for " +
				"one connection. Anybody who has it can connect an account of their own, so send it only to the " +
				"customer.",
			Reasons:  []string{fault.ReasonNotFound, fault.ReasonNotSupported},
			endpoint: creating(mutation(s, Admin.CreateLink, ConnectLinkCreation.input)),
		},
	}
}

func keyOperations(s Admin) []operation {
	return []operation{
		{
			ID: "listKeys", Method: http.MethodGet, Path: keysPath, Summary: "List API keys",
			Description: "Lists a tenant's API keys, with those that are revoked.",
			Reasons:     []string{fault.ReasonNotFound},
			endpoint:    query(s, Admin.ListKeys, tenantPath.input),
		},
		{
			ID: "createKey", Method: http.MethodPost, Path: keysPath, Summary: "Create an API key",
			Description: "Creates an API key. Only the answer shows the key: this one, and that to a repeat with the " +
				"same Idempotency-Key.",
			Reasons:  []string{fault.ReasonNotFound},
			endpoint: creating(mutation(s, Admin.CreateKey, KeyCreation.input)),
		},
		{
			ID: "rollKey", Method: http.MethodPost, Path: keyRoot + "/roll", Summary: "Roll an API key",
			Description: "Creates an API key with the label, scopes and connections of another one, which stays " +
				"valid for the overlap and ends then.",
			Reasons:  []string{fault.ReasonNotFound, reasonKeyRevoked},
			endpoint: creating(mutation(s, Admin.RollKey, KeyRoll.input)),
		},
		{
			ID: "revokeKey", Method: http.MethodDelete, Path: keyRoot, Summary: "Revoke an API key",
			Description: "Revokes an API key. It stops working within 5 seconds.",
			Reasons:     []string{fault.ReasonNotFound},
			endpoint:    query(s, Admin.RevokeKey, asGiven),
		},
	}
}

func agentOperations(s Admin) []operation {
	return []operation{
		{
			ID: "listAgents", Method: http.MethodGet, Path: agentsPath, Summary: "List voice agents",
			Description: "Lists a tenant's voice agents with their addresses.",
			Reasons:     []string{fault.ReasonNotFound},
			endpoint:    query(s, Admin.ListAgents, tenantPath.input),
		},
		{
			ID: "createAgent", Method: http.MethodPost, Path: agentsPath, Summary: "Create a voice agent",
			Description: "Creates a voice agent at a platform, with an address of its own. There, the platform's " +
				"signature takes the place of an API key, so that the platform never has one.",
			Reasons:  []string{fault.ReasonNotFound, tenant.ReasonNameTaken},
			endpoint: creating(mutation(s, Admin.CreateAgent, AgentCreation.input)),
		},
		{
			ID: "changeAgent", Method: http.MethodPatch, Path: agentsPath + "/{agent}", Summary: "Change a voice agent",
			Description: "Changes the given fields of a voice agent. Its address and its platform stay.",
			Reasons: []string{
				fault.ReasonNotFound, apikey.ReasonAgentNotFound, fault.ReasonChangedMeanwhile,
			},
			endpoint: query(s, Admin.ChangeAgent, AgentChange.input),
		},
		{
			ID: "removeAgent", Method: http.MethodDelete, Path: agentsPath + "/{agent}",
			Summary: "Remove a voice agent", Description: "Removes a voice agent. Its address stops working within 5 seconds.",
			Reasons:  []string{fault.ReasonNotFound, apikey.ReasonAgentNotFound},
			endpoint: query(s, Admin.RemoveAgent, asGiven),
		},
	}
}

func heldNumberOperations(s Admin) []operation {
	ofProvider := []string{
		fault.ReasonNotConnected, fault.ReasonReconnectRequired, fault.ReasonPermissionDenied,
		fault.ReasonProviderRefused, fault.ReasonProviderMisconfigured, fault.ReasonProviderConflict,
		fault.ReasonProviderRateLimited, fault.ReasonProviderUnavailable, fault.ReasonEgressRefused,
		fault.ReasonBreakerOpen, fault.ReasonOutcomeUnknown,
	}
	return []operation{
		{
			ID: "listHeldNumbers", Method: http.MethodGet, Path: heldPath, Summary: "List phone numbers",
			Description: "Lists a tenant's phone numbers, with those that wait to go back to the provider.",
			Reasons:     []string{fault.ReasonNotFound},
			endpoint:    query(s, Admin.ListNumbers, tenantPath.input),
		},
		{
			ID: "buyNumber", Method: http.MethodPost, Path: heldPath, Summary: "Buy a phone number",
			Description: "Buys a number in an area code for a tenant, under the tenant's limits. Two calls with one " +
				"Idempotency-Key buy one number; without a key every call buys one. If an order takes a while, the " +
				"answer is the problem order-pending, and a repeat with the same key gets the number.",
			Reasons: append([]string{
				fault.ReasonNotFound, fault.ReasonNoNumbersAvailable, fault.ReasonNumberTaken, fault.ReasonOrderPending,
				fault.ReasonPurchaseLimit, fault.ReasonNumberLimit, fault.ReasonAddressRequired,
				fault.ReasonBundleRequired, fault.ReasonTrialLimit, fault.ReasonInsufficientFunds,
				fault.ReasonAccountSuspended, fault.ReasonNotSupported,
			}, ofProvider...),
			endpoint: creating(mutation(s, Admin.BuyNumber, NumberPurchase.input)),
		},
		{
			ID: "changeNumber", Method: http.MethodPatch, Path: heldPath + "/{id}", Summary: "Change a phone number",
			Description: "Changes the given fields: absent fields stay, and null unassigns an employee. Assigning an " +
				"inbound employee also points the number at the agent platform.",
			Reasons: append([]string{
				fault.ReasonNotFound, fault.ReasonNumberNotFound, fault.ReasonChangedMeanwhile, fault.ReasonNotSupported,
			}, ofProvider...),
			endpoint: mutation(s, Admin.ChangeNumber, NumberChange.input),
		},
		{
			ID: "releaseNumber", Method: http.MethodDelete, Path: heldPath + "/{id}", Summary: "Release a phone number",
			Description: "Takes a number out of use and gives it back to the provider for good: at once, or after the " +
				"connection's release_delay. Until then it can be restored.",
			Reasons: append([]string{
				fault.ReasonNotFound, fault.ReasonNumberNotFound, fault.ReasonEmergencyAddress, fault.ReasonNumberLocked,
			}, ofProvider...),
			endpoint: mutation(s, Admin.ReleaseNumber, asGiven),
		},
		{
			ID: "adoptNumber", Method: http.MethodPost, Path: heldPath + "/adopt", Summary: "Adopt a phone number",
			Description: "Gives a tenant a number that the connection's account holds already. It buys nothing.",
			Reasons: []string{fault.ReasonNotFound, fault.ReasonNumberTaken, fault.ReasonProviderUnavailable,
				fault.ReasonReconnectRequired, fault.ReasonBreakerOpen},
			endpoint: creating(query(s, Admin.AdoptNumber, NumberAdoption.input)),
		},
		{
			ID: "restoreNumber", Method: http.MethodPost, Path: heldPath + "/{id}/restore",
			Summary:     "Restore a phone number",
			Description: "Puts a released number that still waits back into use.",
			Reasons:     []string{fault.ReasonNumberNotFound},
			endpoint:    query(s, Admin.RestoreNumber, asGiven),
		},
	}
}

func requestOperations(s Admin) []operation {
	return []operation{
		{
			ID: "listRequests", Method: http.MethodGet, Path: requestsPath, Summary: "List requests",
			Description: "Lists the newest requests that the tenant's API keys made, and that match. The log keeps the " +
				"last requests of each tenant, and has each about a second after its answer.",
			Reasons:  []string{fault.ReasonNotFound},
			endpoint: query(s, Admin.ListRequests, requestQuery),
		},
		{
			ID: "getRequest", Method: http.MethodGet, Path: requestsPath + "/{request}", Summary: "Get a request",
			Description: "Returns a request with each call of a provider that it made, without bodies.",
			Reasons:     []string{fault.ReasonNotFound},
			endpoint:    query(s, Admin.GetRequest, asGiven),
		},
	}
}

func operatorOperations(s Admin) []operation {
	return []operation{
		{
			ID: "listProviders", Method: http.MethodGet, Path: adminRoot + "/providers", Summary: "List providers",
			Description: "Lists the providers of this gateway with the settings and credentials that each needs.",
			endpoint:    lookup(s, Admin.ListProviders),
		},
		{
			ID: "listAudit", Method: http.MethodGet, Path: adminRoot + "/audit", Summary: "List the audit",
			Description: "Lists the newest changes that the key may see, the oldest of them first.",
			Reasons:     []string{fault.ReasonNotFound},
			endpoint:    query(s, Admin.ListAudit, auditQuery),
		},
		{
			ID: "listAdminKeys", Method: http.MethodGet, Path: adminKeysPath, Summary: "List admin keys",
			Description: "Lists the keys of the admin interface that the key reaches.",
			endpoint:    lookup(s, Admin.ListAdminKeys),
		},
		{
			ID: "createAdminKey", Method: http.MethodPost, Path: adminKeysPath, Summary: "Create an admin key",
			Description: "Creates a key of the admin interface. A tenant's key can create keys for that tenant " +
				"only. Only the answer shows the key: this one, and that to a repeat with the same Idempotency-Key.",
			Reasons:  []string{fault.ReasonNotFound},
			endpoint: creating(mutation(s, Admin.CreateAdminKey, AdminKeyCreation.input)),
		},
		{
			ID: "rollAdminKey", Method: http.MethodPost, Path: adminKeysPath + "/{key}/roll",
			Summary: "Roll an admin key",
			Description: "Creates a key of the admin interface with the label, role and tenant of another one, which " +
				"stays valid for the overlap and ends then.",
			Reasons:  []string{fault.ReasonNotFound, reasonKeyRevoked},
			endpoint: creating(mutation(s, Admin.RollAdminKey, AdminKeyRoll.input)),
		},
		{
			ID: "revokeAdminKey", Method: http.MethodDelete, Path: adminKeysPath + "/{key}",
			Summary: "Revoke an admin key", Description: "Revokes a key of the admin interface.",
			Reasons:  []string{fault.ReasonNotFound},
			endpoint: query(s, Admin.RevokeAdminKey, adminKeyPath.input),
		},
	}
}
