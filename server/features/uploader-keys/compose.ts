import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { Clock } from '../../lib/clock.ts'
import { createUploaderKeys } from '../../signing/uploader-keys.ts'
import { uploaderKeys } from './contract.ts'
import { uploaderKeyHandlers, type UploaderKeyDeps } from './handlers.ts'

/** The keys whose signatures open the door to source packages. */
export function composeUploaderKeys({
  db,
  audit,
  clock,
  repositories,
}: Omit<UploaderKeyDeps, 'keys'> & { readonly clock: Clock }): Feature {
  return {
    routes: bind(uploaderKeys, uploaderKeyHandlers, {
      db,
      audit,
      repositories,
      keys: createUploaderKeys({ db, clock }),
    }),
  }
}
