package link

// ClaimLife is how long a claim on a link lasts.
const ClaimLife = claimLife
