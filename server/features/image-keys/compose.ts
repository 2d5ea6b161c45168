import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { ImageKeys } from '../../signing/image-keys.ts'
import { imageKeys as rows } from './contract.ts'
import { imageKeyHandlers, type ImageKeyDeps } from './handlers.ts'

/** The keys whose signatures of images count. */
export function composeImageKeys({
  db,
  audit,
  outbox,
  repositories,
  formats,
  imageKeys,
}: Omit<ImageKeyDeps, 'keys'> & { readonly imageKeys: ImageKeys }): Feature {
  return { routes: bind(rows, imageKeyHandlers, { db, audit, outbox, repositories, formats, keys: imageKeys }) }
}
