import type { Role } from '../core/access.ts'

/** A person as a directory knows them. */
export interface DirectoryProfile {
  /** As the directory writes it, which may differ from what was typed. */
  readonly username: string
  readonly role: Role
  readonly fullName?: string | undefined
  readonly email?: string | undefined
  /** Whether an account is made at the first login; otherwise only those who have one get in. */
  readonly provision: boolean
}

/** What a directory says about a name and a password. `unavailable` is never a yes, and never a no. */
export type DirectoryAnswer =
  | { readonly kind: 'ok'; readonly profile: DirectoryProfile }
  /** `username` where the person is there and the password is not theirs. */
  | { readonly kind: 'refused'; readonly username?: string | undefined }
  | { readonly kind: 'unavailable'; readonly why: string }

/**
 * A place elsewhere that knows people and their passwords. Asked after the local accounts, and never about one of
 * those.
 */
export interface Directory {
  /** Whether it is switched on now; asked at every login. */
  isEnabled(): boolean
  /** Never throws for what the directory says or fails to say. An empty password is refused without asking. */
  authenticate(username: string, password: string): Promise<DirectoryAnswer>
}
