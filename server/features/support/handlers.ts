import type { Handlers } from '../../core/contract.ts'
import type { Audit } from '../../record/audit.ts'
import { makeBundle, type BundleDeps } from './bundle.ts'
import type { support } from './contract.ts'

export interface SupportDeps extends BundleDeps {
  readonly audit: Pick<Audit, 'record'>
}

export const supportHandlers: Handlers<typeof support, SupportDeps> = {
  'POST /support/bundle': async (deps, { who, raw }) => {
    const stamp = deps.clock.now().toISOString().slice(0, 19).replace('T', '_').replace(/[-:]/g, '')
    const folder = `gatehouse_support_${stamp}`
    await deps.audit.record({
      action: 'SUPPORT_BUNDLE',
      result: 'SUCCESS',
      user: who.name,
      facts: { kind: 'support.bundle', file: `${folder}.tar.gz` },
      ip: raw.clientIp,
    })
    return { body: makeBundle(deps, { by: who.name, folder }), type: 'application/gzip', name: `${folder}.tar.gz` }
  },
}
