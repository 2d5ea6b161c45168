import type { Db } from '../../db/db.ts'

/** The owner of an account: issuer and subject, whatever the person's name is now. */
export interface Identities {
  /**
   * The user name of this person: that of their first login here, else the given one, which then belongs to them.
   * @returns undefined when the name belongs to somebody else
   */
  claim(person: {
    readonly issuer: string
    readonly subject: string
    readonly username: string
  }): Promise<{ readonly username: string; readonly isNew: boolean } | undefined>
  /** Releases a name that was claimed for a login that was then refused. */
  release(person: { readonly issuer: string; readonly subject: string }): Promise<void>
}

export function createIdentities({ db }: { readonly db: Db }): Identities {
  return {
    claim: ({ issuer, subject, username }) =>
      db.tx(async tx => {
        const known = await tx.first<{ username: string }>(
          'select username from sso_identity where issuer = $1 and subject = $2',
          [issuer, subject],
        )
        if (known !== undefined) return { username: known.username, isNew: false }
        // an account that an admin deleted leaves its name free
        await tx.query(
          `delete from sso_identity where username = $1 and not exists (select 1 from account where account.username = $1 and origin = 'oidc')`,
          [username],
        )
        const added = await tx.query(
          'insert into sso_identity (issuer, subject, username) values ($1, $2, $3) on conflict do nothing returning 1',
          [issuer, subject, username],
        )
        return added.length === 1 ? { username, isNew: true } : undefined
      }),
    release: async ({ issuer, subject }) => {
      await db.query('delete from sso_identity where issuer = $1 and subject = $2', [issuer, subject])
    },
  }
}
