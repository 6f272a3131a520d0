package agents

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/fault"
)

// isAgent reports whether a part of a path is the id of a voice agent. No tool has such a name.
func isAgent(name string) bool { return strings.HasPrefix(name, apikey.AgentID+"_") }

// identify returns the voice agent whose address a request is sent to, as the api.Protocol has it. What proves without
// the body where a request comes from is checked at once, so that strangers cannot withhold bodies.
func (a *Agents) identify(r *http.Request, platform string) (apikey.Caller, bool, error) {
	id := r.PathValue("name")
	if !isAgent(id) {
		return apikey.Caller{}, false, nil
	}
	agent, err := a.opts.Callers.Agent(r.Context(), id)
	if err == nil && agent.Platform != platform {
		err = apikey.NoAgent()
	}
	claimed := signsBody(r.Header, agent)
	if err == nil && !claimed {
		_, err = a.proven(r, nil)
	}
	return agent.Caller, claimed, err
}

// signsBody reports whether a request is to be proven by a signature of its body.
func signsBody(h http.Header, agent apikey.Agent) bool {
	return len(agent.Signing) > 0 && !strings.HasPrefix(bearer(h), "fd_") &&
		(agent.Platform == "retell" || agent.Platform == "vapi" && h.Get(vapiSignature) != "")
}

// atAgent is handle for an address that only agents have.
func (a *Agents) atAgent(handle func(request) (any, error)) func(request) (any, error) {
	return func(r request) (any, error) {
		if !isAgent(r.path("name")) {
			return nil, apikey.NoAgent()
		}
		return handle(r)
	}
}

// proven returns the caller of a request to an agent's address: the agent, if its platform has signed the
// request or sent the signing secret, or else the API key of its tenant that the request has.
func (a *Agents) proven(r *http.Request, body []byte) (apikey.Caller, error) {
	agent, err := a.opts.Callers.Agent(r.Context(), r.PathValue("name"))
	if err != nil {
		return apikey.Caller{}, err
	}
	token := bearer(r.Header)
	if strings.HasPrefix(token, "fd_") {
		return a.ofTenant(r.Context(), token, agent)
	}
	if len(agent.Signing) == 0 {
		return apikey.Caller{}, refused("The agent has no signing secret, so that requests to its address need an " +
			"API key of its tenant, in X-Api-Key or as a bearer token.")
	}
	switch {
	case agent.Platform == "retell":
		err = ofRetell(r.Header, body, agent.Signing, a.opts.Now())
	case agent.Platform == "vapi" && r.Header.Get(vapiSignature) != "":
		err = ofVapi(r.Header, body, agent.Signing, a.opts.Now())
	case token == "":
		err = refused("The request carries no proof that it comes from the agent's platform. Set its signing " +
			"secret as the bearer token there.")
	case subtle.ConstantTimeCompare([]byte(token), agent.Signing) != 1:
		err = refused("The bearer token is not the agent's signing secret.")
	}
	if err == nil {
		a.opts.Callers.Used(agent.Caller)
	}
	return agent.Caller, err
}

// ofTenant returns the caller of an API key, if it is of the agent's tenant.
func (a *Agents) ofTenant(ctx context.Context, key string, agent apikey.Agent) (apikey.Caller, error) {
	caller, err := a.opts.Callers.Authenticate(ctx, key)
	if err == nil && caller.Tenant.ID != agent.Caller.Tenant.ID {
		err = apikey.NoAgent()
	}
	return caller, err
}

// bearer returns the token that a request carries, or "". Old agents of Vapi send it in X-Vapi-Secret
// (docs.vapi.ai/server-url/server-authentication).
func bearer(h http.Header) string {
	if scheme, token, _ := strings.Cut(h.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	if token := h.Get("X-Api-Key"); token != "" {
		return token
	}
	return h.Get("X-Vapi-Secret")
}

// signedWithin is how old a signature may be, and how far ahead the platform's clock (retell-sdk 5.66.1,
// webhook_auth.ts).
const signedWithin = 5 * time.Minute

const retellSignature = "X-Retell-Signature"

var retellSigned = regexp.MustCompile(`^(?i)v=([0-9]{1,15}),d=([0-9a-f]{64})$`)

// ofRetell checks Retell's signature: of the bytes of the body and the time in milliseconds after them
// (retell-sdk 5.66.1, webhook_auth.ts).
func ofRetell(h http.Header, body, secret []byte, now time.Time) error {
	parts := retellSigned.FindStringSubmatch(h.Get(retellSignature))
	if parts == nil {
		return refused("The header " + retellSignature + " is missing, or is not v=TIME,d=SIGNATURE.")
	}
	if err := fresh(parts[1], time.Millisecond, now); err != nil {
		return err
	}
	return matches(retellSignature, parts[2], secret, body, []byte(parts[1]))
}

// The headers of Vapi's signature, as a custom credential has them unless it is told otherwise.
const (
	vapiSignature = "X-Signature"
	vapiTimestamp = "X-Timestamp"
)

var digits = regexp.MustCompile(`^[0-9]{1,15}$`)

// ofVapi checks Vapi's signature: of the time, a dot and the bytes of the body (docs.vapi.ai/server-url/
// server-authentication; HmacAuthenticationPlan of @vapi-ai/server-sdk 2.0.1). The unit of the time is not
// documented: it is seconds or milliseconds.
func ofVapi(h http.Header, body, secret []byte, now time.Time) error {
	stamp := h.Get(vapiTimestamp)
	if !digits.MatchString(stamp) {
		return refused("The header " + vapiTimestamp + " is missing, or is not a number. Let the credential at " +
			"Vapi include it.")
	}
	unit := time.Second
	if len(stamp) > len("9999999999") {
		unit = time.Millisecond
	}
	if err := fresh(stamp, unit, now); err != nil {
		return err
	}
	return matches(vapiSignature, h.Get(vapiSignature), secret, []byte(stamp+"."), body)
}

// fresh checks the time of a signature, so that nobody can send a request again later.
func fresh(stamp string, unit time.Duration, now time.Time) error {
	count, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return refused("The time of the signature is not a number.")
	}
	signed := time.UnixMilli(count)
	if unit == time.Second {
		signed = time.Unix(count, 0)
	}
	if now.Sub(signed).Abs() > signedWithin {
		return refused(fmt.Sprintf("The signature was made at %s, which is more than five minutes from now. Check "+
			"the clocks.", signed.UTC().Format(time.RFC3339)))
	}
	return nil
}

// matches checks a signature in hexadecimal: HMAC with SHA-256 of the parts.
func matches(header, signature string, secret []byte, parts ...[]byte) error {
	given, err := hex.DecodeString(signature)
	if err != nil {
		return refused("The header " + header + " is not a signature in hexadecimal.")
	}
	if !hmac.Equal(sign(secret, parts...), given) {
		return refused("The signature in " + header + " is not of the agent's signing secret.")
	}
	return nil
}

// sign returns the HMAC with SHA-256 of the parts.
func sign(secret []byte, parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, secret)
	for _, part := range parts {
		mac.Write(part)
	}
	return mac.Sum(nil)
}

func refused(detail string) error {
	return fault.New(fault.Unauthenticated, fault.ReasonInvalidSignature, detail)
}
