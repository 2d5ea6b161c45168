import type { Handlers } from '../../core/contract.ts'
import type { setup } from './contract.ts'
import type { FirstAdmin } from './first-admin.ts'

export interface SetupDeps {
  readonly firstAdmin: FirstAdmin
}

export const setupHandlers: Handlers<typeof setup, SetupDeps> = {
  'GET /setup/status': async ({ firstAdmin }) => {
    const exists = await firstAdmin.exists()
    return { admin_exists: exists, setup_done: exists, needs_setup: !exists, token_required: firstAdmin.tokenRequired }
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
