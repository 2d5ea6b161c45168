/** One signing key as people see it. `created_at` is ISO 8601, when it came here; `fingerprint` upper-case hex. */
export interface KeyCard {
  readonly fingerprint: string
  readonly user_id: string
  readonly algorithm: string
  readonly created_at: string
  readonly role: 'current' | 'previous'
  /** Until then the previous key signs beside the current one. */
  readonly retires_at?: string
  /** Clients refuse what it signs from then on. Keys that are made here never expire; those of others may. */
  readonly expires_at?: string
}

/** An RSA key that signs APK indexes. `key_name` is the file name under which clients must keep its public part. */
export interface RsaKeyCard {
  readonly key_name: string
  /** PEM. */
  readonly public_key: string
  readonly algorithm: string
  readonly created_at: string
  readonly role: 'current' | 'previous'
  readonly retires_at?: string
}

/** An RSA signature (PKCS #1 v1.5) and the key that made it. */
export interface RsaSigned {
  readonly keyName: string
  readonly hash: 'sha1' | 'sha256' | 'sha512'
  readonly signature: Buffer
}

/** Signs with every active key. Of two signatures the previous key's comes last (zypper reads only the last). */
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
  /**
   * True when an active key made one of the armoured signatures; a package carries one, or several of different people.
   */
  verifyOne(bytes: Uint8Array, signature: string): Promise<boolean>
  /** The active RSA keys, the current one first. The first call makes the first key. */
  rsaKeys(): Promise<readonly RsaKeyCard[]>
  /** By every active RSA key, in that order. The same bytes give the same signatures. */
  signRsa(bytes: Uint8Array, hash: RsaSigned['hash']): Promise<readonly RsaSigned[]>
  /** True when the key with that name is active here and made the signature. */
  verifyRsa(bytes: Uint8Array, signed: RsaSigned): Promise<boolean>
}

/** The keys on disk under `keyring/`. */
export interface Keyring {
  /** @throws no_signing_key */
  signer(): Promise<Signer>
  keys(): Promise<readonly KeyCard[]>
  /** The active RSA keys; none before the first APK tree was signed. */
  rsaKeys(): Promise<readonly RsaKeyCard[]>
  /**
   * Makes a key; an existing one becomes `previous` for the overlap. Takes seconds for RSA; runs beside requests.
   * @throws signing_key_exists
   */
  generate(options: {
    readonly type: 'rsa4096' | 'ed25519Legacy'
    readonly name: string
    readonly email: string
    readonly overlapDays: number
    /** Refused where there is a key already. */
    readonly first?: boolean
  }): Promise<KeyCard>
  /**
   * Takes in a key that others made, as `generate` makes one. Neither text nor passphrase is kept.
   * @throws signing_key_exists, and what `readSigningKey` throws
   */
  take(options: {
    readonly armored: string
    readonly passphrase: string
    readonly overlapDays: number
    readonly first?: boolean
  }): Promise<KeyCard>
  /** The public keys, armoured or binary, all active ones joined in one block. @throws no_signing_key */
  publicKey(form: 'armored' | 'binary'): Promise<Buffer>
  /** Called after each change of the set of active keys. */
  onChange(listener: () => void): void
}
