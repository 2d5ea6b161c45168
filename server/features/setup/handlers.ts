import type { Handlers, RawRequest } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Settings } from '../../settings/store.ts'
import type { setup } from './contract.ts'
import type { AddressCheck } from './address.ts'
import type { ClockSync } from './clock.ts'
import type { Preflight } from './preflight.ts'
import type { FirstAdmin } from './first-admin.ts'

export interface SetupDeps {
  readonly firstAdmin: FirstAdmin
  readonly clock: Clock
  readonly settings: Pick<Settings, 'now'>
  readonly address: AddressCheck
  readonly clockSync: () => Promise<ClockSync>
  readonly preflight: (raw: Pick<RawRequest, 'stream'>) => Promise<Preflight>
}

export const setupHandlers: Handlers<typeof setup, SetupDeps> = {
  'GET /setup/status': async ({ firstAdmin, clock, settings, address }, { raw }) => {
    address.saw(raw.headers['x-request-id'])
    const exists = await firstAdmin.exists()
    return {
      admin_exists: exists,
      setup_done: exists,
      needs_setup: !exists,
      token_required: firstAdmin.tokenRequired,
      appliance: settings.now().appliance,
      checked_at: clock.now().toISOString(),
    }
  },
  'GET /setup/preflight': async ({ firstAdmin, preflight }, { raw }) => {
    // what it says of the machine is for whoever sets it up
    if (await firstAdmin.exists()) fail('admin_exists', {})
    return preflight(raw)
  },
  'POST /setup/address': ({ address }, { body }) => {
    if (!URL.canParse(body.url)) fail('bad_request', { said: `${body.url} is not an address.` })
    return address.look(body.url)
  },
  'GET /setup/clock': async ({ clock, clockSync }) => {
    const sync = await clockSync()
    // read last: whoever compares it knows only when the answer came
    return { ...sync, now: clock.now().toISOString() }
  },
  'POST /setup/': async ({ firstAdmin }, { body, raw }) => {
    const token = raw.headers['x-setup-token']
    await firstAdmin.create({
      username: body.admin_username,
      password: body.admin_password,
      token: typeof token === 'string' ? token : undefined,
      ip: raw.clientIp,
    })
    return {
      message: `The admin ${body.admin_username} is made. Log in to go on.`,
      username: body.admin_username,
      role: 'admin',
      admin_exists: true,
    }
  },
}
