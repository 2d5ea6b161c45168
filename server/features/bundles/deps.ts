import type { Jobs } from '../../core/work.ts'
import type { Repositories } from '../../core/repository.ts'
import type { Layout } from '../../files/layout.ts'
import type { Spool } from '../../files/spool.ts'
import type { MakeDeps } from '../../imports/bundle/make.ts'
import type { ReceiptDeps } from '../../imports/bundle/receipts.ts'
import type { Keyring } from '../../signing/signer.ts'
import type { Settings } from '../../settings/store.ts'
import type { Uploads } from './uploads.ts'

/** What the routes of bundles work with. */
export interface BundleRouteDeps extends MakeDeps, Omit<ReceiptDeps, 'keyring'> {
  readonly keyring: Pick<Keyring, 'signer' | 'keys'>
  readonly jobs: Jobs
  readonly repositories: Pick<Repositories, 'all' | 'find' | 'seenBy'>
  readonly settings: Pick<Settings, 'now'>
  readonly spool: Pick<Spool, 'receive'>
  readonly layout: Pick<Layout, 'bundles' | 'blob' | 'root'>
  readonly uploads: Uploads
  /** IMPORT_ROOTS: directories that bundles and receipts are read from and written to. */
  readonly importRoots: readonly string[]
  /** MEDIA_FOLDER: where sticks are mounted. */
  readonly mediaFolder: string | undefined
  readonly feedsConfigured: () => boolean
}
