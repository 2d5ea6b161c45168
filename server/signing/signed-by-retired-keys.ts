import type { Part } from '../core/feature.ts'
import { maySee, type Viewer } from '../core/viewer.ts'
import type { Keyring } from './signer.ts'

/** Watches for packages that outlive the key they are signed with: clients that know only the newer key refuse them. */
export interface Outlived extends Part {
  /** Reads the database; the cost grows with what is published. */
  look(): Promise<void>
  /** Sentences from the last look; empty when every signature is by the current key. */
  warnings(viewer: Viewer): readonly string[]
}

/** How many published packages of a distribution are signed with one key. */
export interface Signed {
  readonly codename: string
  readonly key: string
  readonly packages: number
}

/** Finds published packages whose signature outlives the key that made it, or soon will. */
export function createOutlived({
  signed,
  keyring,
}: {
  /** Which keys the published packages are signed with. */
  readonly signed: () => Promise<readonly Signed[]>
  readonly keyring: Pick<Keyring, 'keys'>
}): Outlived {
  let said: readonly { readonly codename: string; readonly text: string }[] = []
  async function look(): Promise<void> {
    const keys = new Map((await keyring.keys()).map(key => [key.fingerprint, key]))
    said = (await signed()).flatMap(({ codename, key, packages }) => {
      const card = keys.get(key)
      if (card !== undefined && card.retires_at === undefined) return []
      const named = key.slice(-16)
      const text =
        card?.retires_at === undefined
          ? `Packages of ${codename} (${packages}) are signed with the key ${named}, which is retired: clients that know only the newer key refuse them. Delete them and upload them again.`
          : `Packages of ${codename} (${packages}) are signed with the key ${named}, which retires on ${card.retires_at.slice(0, 10)}: clients that know only the newer key refuse them. Delete them and upload them again.`
      return [{ codename, text }]
    })
  }

  return {
    look,
    warnings: viewer => said.filter(({ codename }) => maySee(viewer, codename)).map(({ text }) => text),
    jobs: [
      {
        id: 'package-keys',
        name: 'Look for packages that outlive the key they are signed with',
        when: () => '35 * * * *',
        run: look,
      },
    ],
  }
}
