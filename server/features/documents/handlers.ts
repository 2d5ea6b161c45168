import { needScopes } from '../../core/access.ts'
import type { Handlers } from '../../core/contract.ts'
import { asSeenBy, type Repositories } from '../../core/repository.ts'
import { readBody } from '../../files/form.ts'
import type { Spool } from '../../files/spool.ts'
import { MAX_DOCUMENT } from '../../formats/documents.ts'
import { DOCUMENT_FORM, type documents } from './contract.ts'
import { copyDocuments, listDocuments, putDocument, removeDocument, type DocumentDeps } from './documents.ts'

export interface DocumentRouteDeps extends Omit<DocumentDeps, 'repositories'> {
  readonly repositories: Pick<Repositories, 'seenBy'>
  readonly spool: Pick<Spool, 'receive'>
}

export const documentHandlers: Handlers<typeof documents, DocumentRouteDeps> = {
  'GET /distributions/{codename}/documents': (deps, { params, viewer }) =>
    listDocuments(asSeenBy(deps, viewer), viewer, params.codename),
  'PUT /distributions/{codename}/documents/{kind}': (deps, { params, query, who, viewer, raw }) =>
    putDocument(asSeenBy(deps, viewer), { ...params, key: query, by: who.name, ip: raw.clientIp }, async () => {
      const { file } = await readBody(raw, {
        spool: deps.spool,
        known: Object.keys(DOCUMENT_FORM.properties),
        limitBytes: MAX_DOCUMENT,
        setting: 'none',
        filename: params.kind,
      })
      return file
    }),
  'DELETE /distributions/{codename}/documents/{kind}': async (all, { params, query, who, viewer, raw }) => {
    const deps = asSeenBy(all, viewer)
    await removeDocument(deps, { ...params, key: query, by: who.name, ip: raw.clientIp })
    return listDocuments(deps, viewer, params.codename)
  },
  'POST /distributions/{codename}/documents/copy': async (all, { params, body, who, viewer, raw }) => {
    const deps = asSeenBy(all, viewer)
    const { codename } = params
    needScopes(who, [codename, body.from_distribution])
    await copyDocuments(deps, { codename, from: body.from_distribution, by: who.name, ip: raw.clientIp })
    return listDocuments(deps, viewer, codename)
  },
}
