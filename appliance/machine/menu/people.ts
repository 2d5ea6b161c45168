import { listAdmins, newSetupToken, resetFactor, resetPassword, type Admin } from '../verbs/people.ts'
import type { Menu } from './context.ts'
import { Back, choose, confirm } from './terminal.ts'

export async function makeToken({ terminal, ports }: Menu): Promise<void> {
  await confirm(terminal, '\nThe token on the screen ends, and the service restarts.')
  terminal.say(`\n  Setup token  ${await newSetupToken(ports)}`)
}

const wordsOf = ({ username, origin, active, is_locked, mfa_enabled }: Admin): string => {
  const words = [
    ...(origin === 'local' ? [] : [`password in ${origin}`]),
    ...(active ? [] : ['deactivated']),
    ...(is_locked ? ['locked'] : []),
    ...(mfa_enabled ? ['second factor'] : []),
  ]
  return words.length === 0 ? username : `${username} (${words.join(', ')})`
}

async function chooseAdmin({ terminal, ports }: Menu, title: string, fits: (admin: Admin) => boolean): Promise<Admin> {
  terminal.say('One moment.')
  const admins = (await listAdmins(ports)).filter(fits)
  const [first] = admins
  if (first === undefined) {
    terminal.say('There is no admin for whom this could be done.')
    throw new Back()
  }
  return admins[await choose(terminal, admins.map(wordsOf), title)] ?? first
}

export async function helpWithPassword(menu: Menu): Promise<void> {
  const { terminal, ports } = menu
  const { username } = await chooseAdmin(menu, 'New password for', admin => admin.origin === 'local')
  await confirm(terminal, `Every session of ${username} ends.`)
  terminal.say(`\n  New password of ${username}:  ${await resetPassword(ports, username)}\n`)
  terminal.say('It is shown this once. Sign in with it, then choose another in your profile.')
  await terminal.ask('Enter takes it off the screen. ')
  // a serial line has no screen to clear
  terminal.say('\u001b[H\u001b[2J\u001b[3J')
}

export async function helpWithFactor(menu: Menu): Promise<void> {
  const { terminal, ports } = menu
  const { username } = await chooseAdmin(menu, 'Remove the second factor of', admin => admin.mfa_enabled)
  await confirm(terminal, `The password of ${username} is enough again.`)
  terminal.say(await resetFactor(ports, username))
}
