import { join } from 'node:path'
import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { antivirus } from './contract.ts'
import { antivirusHandlers, type AntivirusDeps } from './handlers.ts'
import { createSignatures, type SignatureNeeds } from './signatures.ts'

/** The antivirus engine and its signatures. */
export function composeAntivirus(needs: Omit<AntivirusDeps, 'signatures' | 'folder'> & SignatureNeeds): Feature & {
  /** See `Signatures`. */
  readonly loadSignatures: (folder: string) => Promise<void>
} {
  const signatures = createSignatures(needs)
  return {
    routes: bind(antivirus, antivirusHandlers, {
      ...needs,
      signatures,
      folder: join(needs.layout.security, 'clamav'),
    }),
    loadSignatures: async folder => void (await signatures.load(folder)),
  }
}
