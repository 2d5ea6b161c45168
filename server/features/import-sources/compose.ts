import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { importSources } from './contract.ts'
import { importSourceHandlers, type ImportSourceDeps } from './handlers.ts'

/** Repositories of others and their keys. */
export const composeImportSources = (deps: ImportSourceDeps): Feature => ({
  routes: bind(importSources, importSourceHandlers, deps),
})
