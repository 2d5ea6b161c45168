import { needDistributions } from '../../core/access.ts'
import type { Handlers } from '../../core/contract.ts'
import { readBody } from '../../files/form.ts'
import type { Spool } from '../../files/spool.ts'
import { MAX_DOCUMENT } from '../../formats/documents.ts'
import type { documents } from './contract.ts'
import { copyDocuments, listDocuments, putDocument, removeDocument, type DocumentDeps } from './documents.ts'

export interface DocumentRouteDeps extends DocumentDeps {
  readonly spool: Pick<Spool, 'receive'>
}

export const documentHandlers: Handlers<typeof documents, DocumentRouteDeps> = {
  'GET /distributions/{codename}/documents': (deps, { params, viewer }) => listDocuments(deps, viewer, params.codename),
  'PUT /distributions/{codename}/documents/{kind}': (deps, { params, query, who, raw }) =>
    putDocument(deps, { ...params, key: query, by: who.name, ip: raw.clientIp }, async () => {
      const { file } = await readBody(raw, {
        spool: deps.spool,
        limitBytes: MAX_DOCUMENT,
        setting: 'none',
        filename: params.kind,
      })
      return file
    }),
  'DELETE /distributions/{codename}/documents/{kind}': async (deps, { params, query, who, viewer, raw }) => {
    await removeDocument(deps, { ...params, key: query, by: who.name, ip: raw.clientIp })
    return listDocuments(deps, viewer, params.codename)
  },
  'POST /distributions/{codename}/documents/copy': async (deps, { params, body, who, viewer, raw }) => {
    const { codename } = params
    needDistributions({ who, viewer }, [codename, body.from_distribution])
    await copyDocuments(deps, { codename, from: body.from_distribution, by: who.name, ip: raw.clientIp })
    return listDocuments(deps, viewer, codename)
  },
}
