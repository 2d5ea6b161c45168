/** A key that this repository trusts. */
export interface TrustedKeyName {
  readonly name: string
  /** SHA-256 of the key, lower-case hex. */
  readonly fingerprint: string
}

/** What is known of the signatures of one version, the best that was found. */
export type SignedWord =
  | { readonly is: 'signed'; readonly by: TrustedKeyName; /** The index that was signed. */ readonly index?: string }
  | { readonly is: 'unknown_key' }
  | { readonly is: 'certificate' }
  /** Something that should hold a signature was not read. */
  | { readonly is: 'unread'; readonly why: string }
  | { readonly is: 'none' }

/** What a good attestation says, and whose it is. */
export interface AttestedWord {
  readonly by: TrustedKeyName
  /** `https://slsa.dev/provenance/v1` */
  readonly predicate: string
}

/** What a registry asks of its images. */
export const SIGNATURE_RULES = ['none', 'review', 'block'] as const
export type SignatureRule = (typeof SIGNATURE_RULES)[number]

/** Whether and by whom something is signed: the only place that says it. */
export function signedSentence(word: SignedWord): string {
  switch (word.is) {
    case 'signed':
      return word.index === undefined
        ? `Signed by ${word.by.name} (key SHA-256 ${word.by.fingerprint}).`
        : `Signed by ${word.by.name} (key SHA-256 ${word.by.fingerprint}), with the index ${word.index}.`
    case 'unknown_key':
      return 'Signed by a key that is not known here.'
    case 'certificate':
      return 'Its signature was made with a certificate, which is not verified here.'
    case 'unread':
      return `A signature was not looked at: ${word.why}.`
    case 'none':
      return 'It has no signature.'
  }
}

/** Who says what of it. */
export const attestedSentence = ({ by, predicate }: AttestedWord): string =>
  `Attested by ${by.name} (key SHA-256 ${by.fingerprint}): ${predicate.slice(0, 200)}.`

const WAITS: Readonly<Record<SignatureRule, string>> = {
  none: '',
  review: 'It waits for its signature: this registry asks for one by a trusted key.',
  block: 'It waits for its signature in quarantine: this registry takes nothing without one by a trusted key.',
}

/** What a rule makes of a version without a good signature. */
export const waitsSentence = (rule: SignatureRule): string => WAITS[rule]

/** Why an index is held: the only place that says it. @param platform  `linux/arm64` */
export const heldPartSentence = (digest: string, platform?: string | null): string =>
  platform === null || platform === undefined
    ? `It names the manifest ${digest}, which is not served.`
    : `It names the manifest ${digest} (${platform}), which is not served.`

/** Whether a version is held for one of these parts of it, and for nothing else. */
export const isHeldForPart = (heldFor: string, parts: readonly string[]): boolean =>
  parts.some(digest => {
    const sentence = heldPartSentence(digest)
    return heldFor.startsWith(sentence.slice(0, sentence.indexOf(digest) + digest.length))
  })
