import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { UploaderKeys } from '../../signing/uploader-keys.ts'
import { uploaderKeys as rows } from './contract.ts'
import { uploaderKeyHandlers, type UploaderKeyDeps } from './handlers.ts'

/** The keys whose signatures developers' uploads need. */
export function composeUploaderKeys({
  db,
  audit,
  repositories,
  uploaderKeys,
}: Omit<UploaderKeyDeps, 'keys'> & { readonly uploaderKeys: UploaderKeys }): Feature {
  return { routes: bind(rows, uploaderKeyHandlers, { db, audit, repositories, keys: uploaderKeys }) }
}
