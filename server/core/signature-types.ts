/**
 * Media types of what holds signatures.
 * Source: cosign, "Signature Specification"; DSSE 1.0; in-toto attestation 1.0; sigstore, "Sigstore Bundle Format".
 */
export const SIMPLE_SIGNING = 'application/vnd.dev.cosign.simplesigning.v1+json'
export const DSSE = 'application/vnd.dsse.envelope.v1+json'
export const IN_TOTO = 'application/vnd.in-toto+json'
export const BUNDLE = 'application/vnd.dev.sigstore.bundle.v0.3+json'
export const HOLDS_SIGNATURES: readonly string[] = [SIMPLE_SIGNING, DSSE, IN_TOTO, BUNDLE]
