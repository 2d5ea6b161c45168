import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { Codename } from '../../core/identity.ts'
import { FILES_LONGEST_MS } from '../../db/outbox.ts'
import { createDocumentFiles } from '../../files/documents.ts'
import type { Layout } from '../../files/layout.ts'
import { getFormat } from '../../formats/index.ts'
import { createKeyedLock } from '../../lib/keyed-lock.ts'
import type { Log } from '../../lib/log.ts'
import { readDocuments } from '../../publish/documents.ts'
import { documents } from './contract.ts'
import { documentHandlers, type DocumentRouteDeps } from './handlers.ts'
import { isUnfilled, saveDocument } from './store.ts'

type DocumentNeeds = Omit<DocumentRouteDeps, 'files' | 'formats' | 'lock'> & {
  readonly layout: Pick<Layout, 'documents'>
  readonly log: Log
}

/** Metadata that come with a package set, kept on disk beside the manifests. */
export function composeDocuments({ layout, log, ...needs }: DocumentNeeds): Feature {
  const files = createDocumentFiles(layout)
  const lock = createKeyedLock()
  const { db, outbox } = needs

  /** Reads the documents from the disk when the database has none, as after it was lost. */
  async function restore(): Promise<void> {
    if (!(await isUnfilled(db))) return
    const found = await files.walk()
    if (found.length === 0) return
    await db.tx(async tx => {
      for (const one of found) {
        await saveDocument(tx, one)
        await outbox.owe(tx, `contents:${one.codename}`)
      }
    })
    outbox.nudge()
    log.info({ documents: found.length }, 'documents were read from the disk')
  }

  return {
    routes: bind(documents, documentHandlers, { ...needs, files, lock, formats: getFormat }),
    debts: {
      document: {
        longestMs: FILES_LONGEST_MS,
        deliver: ([rest]) => {
          const codename = rest as Codename
          return lock.run(codename, async () => files.settle(codename, await readDocuments(db, codename)))
        },
      },
    },
    start: () =>
      void restore().catch((error: unknown) => log.error({ err: error }, 'documents on disk could not be read')),
  }
}
