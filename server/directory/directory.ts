import type { Role } from '../core/access.ts'

/** A person as a directory knows them. */
export interface DirectoryProfile {
  /** As the directory writes it, which may differ from what was typed. */
  readonly username: string
  readonly role: Role
  readonly fullName?: string | undefined
  readonly email?: string | undefined
  /** True: the first login makes an account. False: only people with an account get in. */
  readonly provision: boolean
}

/** A directory's answer about a name and a password. `unavailable` is neither yes nor no. */
export type DirectoryAnswer =
  | { readonly kind: 'ok'; readonly profile: DirectoryProfile }
  /** `username` where the person exists and the password is wrong. */
  | { readonly kind: 'refused'; readonly username?: string | undefined }
  | { readonly kind: 'unavailable'; readonly why: string }

/**
 * A place outside that knows people and their passwords. Asked after the local accounts, and never about one of those.
 */
export interface Directory {
  /** Whether it is switched on; asked at every login. */
  isEnabled(): boolean
  /** Never throws because of the directory's answer or silence. Refuses an empty password without asking. */
  authenticate(username: string, password: string): Promise<DirectoryAnswer>
}
