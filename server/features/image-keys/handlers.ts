import type { Handlers } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import type { FormatId } from '../../core/identity.ts'
import type { Distribution, Repositories } from '../../core/repository.ts'
import { owedForRegistry } from '../../core/signed-debt.ts'
import { maySee } from '../../core/viewer.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Outbox } from '../../db/outbox.ts'
import type { Format } from '../../formats/format.ts'
import type { Audit } from '../../record/audit.ts'
import type { FactsOf } from '../../record/audit-facts.ts'
import type { ImageKey, ImageKeys } from '../../signing/image-keys.ts'
import type { imageKeys } from './contract.ts'

export interface ImageKeyDeps {
  readonly db: Db
  readonly audit: Pick<Audit, 'owe'>
  readonly outbox: Pick<Outbox, 'owe' | 'nudge'>
  readonly repositories: Pick<Repositories, 'registries'>
  readonly formats: (id: FormatId) => Format
  readonly keys: Pick<ImageKeys, 'list' | 'add' | 'remove'>
}

const factsOf = ({ name, fingerprint, registries }: ImageKey): FactsOf['image_key.added'] => ({
  name,
  fingerprint,
  ...(registries === null ? {} : { registries }),
})

/** The registries whose versions can be signed. */
const signedRegistries = ({
  repositories,
  formats,
}: Pick<ImageKeyDeps, 'repositories' | 'formats'>): readonly Distribution[] =>
  repositories
    .registries()
    .filter(({ format, registry }) => formats(format).signing !== undefined && registry?.kind !== 'group')

/** What waits where a key counts, or counted, is looked at again. */
async function lookAgain(tx: Tx, deps: ImageKeyDeps, { registries }: ImageKey): Promise<void> {
  for (const { codename } of signedRegistries(deps))
    if (registries?.includes(codename) ?? true) await deps.outbox.owe(tx, owedForRegistry(codename))
}

export const imageKeyHandlers: Handlers<typeof imageKeys, ImageKeyDeps> = {
  'GET /image-keys': async ({ keys }, { viewer }) => ({
    keys: (await keys.list()).map(key => ({
      ...key,
      registries: key.registries?.filter(codename => maySee(viewer, codename)) ?? null,
    })),
  }),
  'POST /image-keys': async (deps, { body, who, raw }) => {
    const { db, audit, keys, outbox, repositories } = deps
    for (const name of body.registries ?? []) {
      if (!repositories.registries().some(({ codename }) => codename === name)) fail('registry_not_found', { name })
      if (!signedRegistries(deps).some(({ codename }) => codename === name))
        fail('bad_registry', { field: 'registries', why: `nothing in ${name} is signed by keys` })
    }
    const { name, public_key: publicKey, registries } = body
    const added = await db.tx(async tx => {
      const key = await keys.add(tx, { name, publicKey, registries, by: who.name })
      await lookAgain(tx, deps, key)
      await audit.owe(tx, {
        action: 'IMAGE_KEY_ADD',
        result: 'SUCCESS',
        user: who.name,
        ip: raw.clientIp,
        facts: { kind: 'image_key.added', ...factsOf(key) },
      })
      return key
    })
    outbox.nudge()
    return added
  },
  'DELETE /image-keys/{name}': async (deps, { params, who, raw }) => {
    const { db, audit, keys, outbox } = deps
    await db.tx(async tx => {
      const key = await keys.remove(tx, params.name)
      await lookAgain(tx, deps, key)
      await audit.owe(tx, {
        action: 'IMAGE_KEY_REMOVE',
        result: 'SUCCESS',
        user: who.name,
        ip: raw.clientIp,
        facts: { kind: 'image_key.removed', ...factsOf(key) },
      })
    })
    outbox.nudge()
  },
}
