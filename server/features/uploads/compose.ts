import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { switchesFor } from '../../formats/index.ts'
import { uploads } from './contract.ts'
import { uploadHandlers, type UploadDeps } from './handlers.ts'

/** The way in for packages. */
export function composeUploads(needs: Omit<UploadDeps, 'switchesFor'>): Feature {
  return { routes: bind(uploads, uploadHandlers, { ...needs, switchesFor: id => switchesFor(id, needs.formats) }) }
}
