import { bind } from '../../core/contract.ts'
import type { Repositories } from '../../core/repository.ts'
import type { Feature } from '../../core/feature.ts'
import type { Codename } from '../../core/identity.ts'
import { createHold } from '../../db/distribution-lock.ts'
import { FILES_LONGEST_MS } from '../../db/outbox.ts'
import { createDocumentFiles } from '../../files/documents.ts'
import type { Layout } from '../../files/layout.ts'
import { getFormat } from '../../formats/index.ts'
import { createKeyedLock } from '../../lib/keyed-lock.ts'
import { failpoint } from '../../lib/failpoint.ts'
import type { Log } from '../../lib/log.ts'
import { readDocuments } from '../../publish/documents.ts'
import { createDocumentCheck } from './check.ts'
import { documents } from './contract.ts'
import { documentHandlers, type DocumentRouteDeps } from './handlers.ts'
import { restoreDocuments } from './restore.ts'

type DocumentNeeds = Omit<DocumentRouteDeps, 'files' | 'formats' | 'hold' | 'lock' | 'check' | 'repositories'> & {
  readonly layout: Pick<Layout, 'documents'>
  readonly repositories: Pick<Repositories, 'seenBy' | 'find'>
  readonly log: Log
}

/** Metadata that come with a package set, kept on disk beside the manifests. */
export function composeDocuments({ layout, log, ...needs }: DocumentNeeds): Feature {
  const files = createDocumentFiles(layout)
  const lock = createKeyedLock()
  const { db, repositories } = needs
  const hold = createHold(repositories)
  return {
    routes: bind(documents, documentHandlers, {
      ...needs,
      files,
      hold,
      lock,
      formats: getFormat,
      check: createDocumentCheck(),
    }),
    debts: {
      document: {
        longestMs: FILES_LONGEST_MS,
        deliver: ([rest]) => {
          const codename = rest as Codename
          return lock.run(codename, async () => {
            failpoint('document:before-settle')
            await files.settle(codename, await readDocuments(db, codename))
          })
        },
      },
    },
    lead: () =>
      void restoreDocuments({ ...needs, files, hold, lock, log }).catch((error: unknown) =>
        log.error({ err: error }, 'documents on disk could not be read'),
      ),
  }
}
