import type { Handlers } from '../../core/contract.ts'
import type { Repositories } from '../../core/repository.ts'
import { maySee } from '../../core/viewer.ts'
import type { Db } from '../../db/db.ts'
import type { Audit } from '../../record/audit.ts'
import type { FactsOf } from '../../record/audit-facts.ts'
import type { UploaderKey, UploaderKeys } from '../../signing/uploader-keys.ts'
import type { uploaderKeys } from './contract.ts'

export interface UploaderKeyDeps {
  readonly db: Db
  readonly audit: Pick<Audit, 'owe'>
  readonly repositories: Pick<Repositories, 'get'>
  readonly keys: Pick<UploaderKeys, 'list' | 'add' | 'remove'>
}

const factsOf = ({ name, fingerprint, distributions }: UploaderKey): FactsOf['uploader_key.added'] => ({
  name,
  fingerprint,
  ...(distributions === null ? {} : { distributions }),
})

export const uploaderKeyHandlers: Handlers<typeof uploaderKeys, UploaderKeyDeps> = {
  'GET /uploader-keys': async ({ keys }, { viewer }) => ({
    keys: (await keys.list()).map(key => ({
      ...key,
      distributions: key.distributions?.filter(codename => maySee(viewer, codename)) ?? null,
    })),
  }),
  'POST /uploader-keys': async ({ db, audit, keys, repositories }, { body, who, raw }) => {
    for (const codename of body.distributions ?? []) repositories.get(codename)
    return db.tx(async tx => {
      const key = await keys.add(tx, {
        name: body.name,
        publicKey: body.public_key,
        distributions: body.distributions,
        by: who.name,
      })
      await audit.owe(tx, {
        action: 'UPLOADER_KEY_ADD',
        result: 'SUCCESS',
        user: who.name,
        ip: raw.clientIp,
        facts: { kind: 'uploader_key.added', ...factsOf(key) },
      })
      return key
    })
  },
  'DELETE /uploader-keys/{name}': async ({ db, audit, keys }, { params, who, raw }) => {
    await db.tx(async tx => {
      const key = await keys.remove(tx, params.name)
      await audit.owe(tx, {
        action: 'UPLOADER_KEY_REMOVE',
        result: 'SUCCESS',
        user: who.name,
        ip: raw.clientIp,
        facts: { kind: 'uploader_key.removed', ...factsOf(key) },
      })
    })
  },
}
