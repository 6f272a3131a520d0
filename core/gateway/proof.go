package gateway

import (
	"encoding/base64"
	"net/http"

	"golang.org/x/time/rate"

	"frontdesk/core/vault"
)

// The doctor asks for the health of whatever answers at server.public_url, with a number used once. A gateway
// with the same key set answers with a proof of that number. So the doctor notices another gateway, another
// server, and a cache.
const (
	nonceHeader = "Frontdesk-Nonce"
	proofHeader = "Frontdesk-Proof"
	nonceLength = 26 // of rand.Text
)

// proofsPerSecond limits proofs, for which nobody needs a key. AES-GCM allows 2^32 values with random nonces
// per key (NIST SP 800-38D section 8.3); at this rate they last for more than ten years.
const proofsPerSecond = 10

func proofRow(nonce string) vault.Row {
	return vault.Row{Purpose: vault.ProbeRow, Columns: []string{nonce}}
}

// proving adds the proof to answers about the gateway's health.
func (g *Gateway) proving(h http.Handler) http.Handler {
	return prover{g, h, rate.NewLimiter(proofsPerSecond, proofsPerSecond)}
}

type prover struct {
	gateway *Gateway
	inner   http.Handler
	limit   *rate.Limiter
}

// Unwrap returns the handler of the API and the pages, which knows its routes.
func (p prover) Unwrap() http.Handler { return p.inner }

func (p prover) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/healthz" {
		if nonce := r.Header.Get(nonceHeader); len(nonce) == nonceLength && p.limit.Allow() {
			if proof, err := p.gateway.vault.SealRow(proofRow(nonce), nil); err == nil {
				w.Header().Set(proofHeader, base64.RawURLEncoding.EncodeToString(proof))
			}
		}
	}
	p.inner.ServeHTTP(w, r)
}

// proves reports whether a gateway with the same key set gave this proof.
func (g *Gateway) proves(nonce, proof string) bool {
	sealed, err := base64.RawURLEncoding.DecodeString(proof)
	if err != nil {
		return false
	}
	_, err = g.vault.OpenRow(proofRow(nonce), sealed)
	return err == nil
}
