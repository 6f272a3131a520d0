package kms

import (
	"context"
	"errors"
	"net/http"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/smithy-go"
	"github.com/tink-crypto/tink-go-awskms/v3/integration/awskms"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// ofAWS returns AWS KMS for the key of that ARN. Its credentials are found as the SDK finds them: variables,
// the shared files, a web identity, the role of the container or the machine.
func ofAWS(arn string, o Options) service {
	return service{
		open: func(ctx context.Context) (tink.AEADWithContext, error) {
			cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(regionOf(arn)), config.WithHTTPClient(
				awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
					t.DisableKeepAlives = true
				})))
			if err != nil {
				return nil, err
			}
			client := kms.NewFromConfig(cfg, func(k *kms.Options) {
				if o.URL != "" {
					k.BaseEndpoint = &o.URL
				}
			})
			return awskms.NewAEADWithContext(ctx, arn, awskms.WithKMS(client))
		},
		problem: problemOfAWS,
		rights: "Give this machine credentials that AWS finds (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a " +
			"shared file, or a role), and allow them kms:Decrypt on the key, and kms:Encrypt to write key sets.",
	}
}

// regionOf returns the region in a key's ARN: arn:PARTITION:kms:REGION:ACCOUNT:key/ID.
func regionOf(arn string) string {
	parts := strings.SplitN(arn, ":", 5)
	if len(parts) < 5 {
		return ""
	}
	return parts[3]
}

// problemOfAWS reads the errors of Encrypt and Decrypt ("Decrypt" and "Common Errors", AWS KMS API
// Reference).
func problemOfAWS(err error) (problem, string) {
	said, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		if what, detail, ok := connecting(err); ok {
			return what, detail
		}
		return noCredentials, "" // the SDK found none: its texts differ by where it looked
	}
	code := said.ErrorCode()
	switch code {
	case "AccessDeniedException", "AccessDenied", "NotAuthorized":
		return denied, code
	case "UnrecognizedClientException", "InvalidClientTokenId", "InvalidSignatureException",
		"SignatureDoesNotMatch", "ExpiredTokenException", "ExpiredToken", "MissingAuthenticationTokenException",
		"IncompleteSignature", "InvalidIdentityToken", "OptInRequired":
		return noCredentials, code
	case "NotFoundException", "InvalidArnException":
		return noKey, code
	case "DisabledException", "KMSInvalidStateException":
		return disabled, code
	case "InvalidCiphertextException", "IncorrectKeyException":
		return foreign, code
	case "KeyUnavailableException", "DependencyTimeoutException", "KMSInternalException", "ThrottlingException",
		"LimitExceededException", "ServiceUnavailable", "InternalFailure":
		return unavailable, code
	}
	if answer, ok := errors.AsType[*awshttp.ResponseError](err); ok && unanswered(answer.HTTPStatusCode()) {
		return unavailable, code
	}
	return unknown, code
}
