/** One signing key as people see it. `created_at` is ISO 8601; `fingerprint` upper-case hex. */
export interface KeyCard {
  readonly fingerprint: string
  readonly user_id: string
  readonly algorithm: string
  readonly created_at: string
  readonly role: 'current' | 'previous'
  /** Until when the previous key goes on signing beside the current one. */
  readonly retires_at?: string
}

/** Signs with every active key. Where there are two, the previous key's signature comes last (zypper reads only the last). */
export interface Signer {
  readonly keys: readonly KeyCard[]
  /** The public keys, armoured or binary, all of `keys` in one block. */
  publicKey(form: 'armored' | 'binary'): Buffer
  /** An OpenPGP clear-signed document: `InRelease`. */
  clearsign(text: string): Promise<string>
  /** An armoured detached signature: `Release.gpg`, `repomd.xml.asc`. */
  detach(bytes: Uint8Array): Promise<string>
  /** A binary detached signature by the current key alone: a package has room for one. */
  detachOne(bytes: Uint8Array): Promise<Buffer>
  /** True when every signature of the document verifies against the active keys. */
  verifyClearsigned(document: string): Promise<boolean>
  verifyDetached(bytes: Uint8Array, signature: string): Promise<boolean>
}

/** The keys on disk under `keyring/`. */
export interface Keyring {
  /** @throws no_signing_key */
  signer(): Promise<Signer>
  keys(): Promise<readonly KeyCard[]>
  /** Makes a key; an existing one becomes `previous` for the overlap. Takes seconds for RSA; runs beside requests. */
  generate(options: { readonly type: 'rsa4096' | 'ed25519Legacy'; readonly name: string; readonly email: string; readonly overlapDays: number }): Promise<KeyCard>
  /** The public keys, armoured or binary, all active ones joined in one block. @throws no_signing_key */
  publicKey(form: 'armored' | 'binary'): Promise<Buffer>
  /** Called after each change of the set of active keys. */
  onChange(listener: () => void): void
}
