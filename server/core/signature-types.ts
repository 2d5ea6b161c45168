/**
 * Media types of what holds signatures.
 * Source: cosign, "Signature Specification"; DSSE 1.0; in-toto attestation 1.0; sigstore, "Sigstore Bundle Format".
 */
export const SIMPLE_SIGNING = 'application/vnd.dev.cosign.simplesigning.v1+json'
export const DSSE = 'application/vnd.dsse.envelope.v1+json'
export const IN_TOTO = 'application/vnd.in-toto+json'
export const BUNDLE = 'application/vnd.dev.sigstore.bundle.v0.3+json'
/**
 * How tags name what is about a manifest: `sha256-….sig`. The digest that such a tag is about; undefined for others.
 * Source: cosign, "Signature Specification", "Tag-based Discovery"
 */
export function digestInTag(tag: string): string | undefined {
  const [, hex] = /^sha256-([0-9a-f]{64})(?:\.[a-z]+)?$/.exec(tag) ?? []
  return hex === undefined ? undefined : `sha256:${hex}`
}

export const HOLDS_SIGNATURES: readonly string[] = [SIMPLE_SIGNING, DSSE, IN_TOTO, BUNDLE]
