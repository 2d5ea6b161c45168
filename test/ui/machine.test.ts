import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { someUpdate, startFakeMachine, type FakeMachine } from '../support/fake-machine.ts'
import { goodMachine } from '../support/machine-view.ts'
import { noBrowser } from './support/browser.ts'
import { PASSWORD, expectFine, settled, signInAt, visits } from './support/visits.ts'

const STICK = '/media/gatehouse/A1'

describe.skipIf(noBrowser !== undefined)('the machine in the console', () => {
  let daemon: Daemon
  let plain: Daemon
  let machine: FakeMachine
  let page: Page
  visits(
    () => daemon.url,
    opened => {
      page = opened
    },
  )
  beforeAll(async () => {
    machine = await startFakeMachine()
    ;[daemon, plain] = await Promise.all([startDaemon({ env: machine.env }), startDaemon()])
    const token = await daemon.setupAdmin()
    await plain.setupAdmin()
    await daemon.call('POST', '/auth/users', {
      token,
      body: { username: 'mila', password: PASSWORD, role: 'maintainer' },
    })
  })
  beforeEach(() => {
    machine.view = goodMachine()
    machine.asked.length = 0
  })
  afterAll(async () => {
    await Promise.all([daemon?.close(), plain?.close()])
    await machine?.close()
  })
  const card = (name: string) => page.getByRole('region', { name, exact: true })
  const dialog = () => page.getByRole('dialog')
  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true })
  async function open(at = '#/machine'): Promise<void> {
    await signInAt(page, `${daemon.url}/${at}`)
    await settled(page)
  }

  test('it says at once that all is well, and what is not good is marked and comes first', async () => {
    await open()
    await page.getByRole('heading', { name: 'The machine is fine' }).waitFor()
    await expectFine(page)
    const { services, certificate, disks } = machine.view
    machine.view = {
      ...machine.view,
      certificate: { ...certificate, ends_at: new Date(Date.now() + 9.5 * 86_400_000).toISOString() },
      services: services.map(one => (one.word === 'clamd' ? { ...one, mark: 'bad', said: 'does not run' } : one)),
      disks: disks.map(one => ({ ...one, mark: 'unknown', said: 'It cannot be looked at' })),
    }
    await page.waitForTimeout(4_100) // a look is shared for so long
    await page.keyboard.press('f')
    await page.getByRole('heading', { name: 'clamd does not run' }).waitFor()
    await page.getByText('1 more thing is marked below. 2 facts could not be looked at.').waitFor()
    await card('Certificate').getByText('9 days, until').waitFor()
    expect(await card('Certificate').getByRole('img', { name: 'Needs attention:' }).count()).toBe(1)
    expect(await card('Disks').getByRole('img', { name: 'Unknown:' }).count()).toBe(2)
    expect(await card('Disks').locator('.meter').count()).toBe(0)
    await expectFine(page)
    await page.setViewportSize({ width: 420, height: 900 })
    await page.emulateMedia({ colorScheme: 'dark' })
    await expectFine(page)
  })

  test('a change of the network is tried, counted down and kept', async () => {
    await open()
    await card('Network').getByRole('button', { name: 'Change' }).click()
    await dialog().getByLabel('DNS, first').fill('10.20.0.9')
    await dialog().getByText('Clients keep the name and the address').waitFor()
    await dialog()
      .getByLabel(/^Address(?! comes)/)
      .fill('10.20.1.11')
    expect(await dialog().getByRole('button', { name: 'Try it' }).getAttribute('aria-disabled')).toBe('true')
    await dialog()
      .getByLabel(/^Address(?! comes)/)
      .fill('10.20.1.11/24')
    await dialog().getByText('open the console at the new one').waitFor()
    await expectFine(page)
    await dialog().getByRole('button', { name: 'Try it for 90 seconds' }).click()
    await page.getByText('The network is on trial.').waitFor()
    await page.getByText(/in (90|8\d) s/).waitFor()
    await expectFine(page)
    await button('Keep it').click()
    await page.getByText('The network is on trial.').waitFor({ state: 'detached' })
    await card('Network').getByText('10.20.1.11/24').waitFor()
    expect(machine.asked).toEqual([
      {
        verb: 'network.set',
        with: { method: 'static', address: '10.20.1.11/24', gateway: '10.20.1.1', dns: ['10.20.0.9'] },
      },
      { verb: 'network.keep', with: {} },
    ])
  })

  test('zone, window, remote log and certificate are changed, and a refusal stays beside what was typed', async () => {
    await open()
    await card('Time').getByRole('button', { name: 'Change' }).click()
    await dialog().getByLabel('Zone').selectOption('Europe/Berlin')
    await dialog().getByRole('button', { name: 'Change' }).click()
    await card('Time').getByText('Europe/Berlin').waitFor()
    await button('Change the window').click()
    await dialog().getByLabel('Sunday').check()
    await dialog().getByLabel('Restart where').uncheck()
    await dialog().getByRole('button', { name: 'Save' }).click()
    await page.getByText('Sunday, Saturday 02:00 to 05:00').waitFor()
    await button('Change the remote log').click()
    await dialog().getByLabel('How it is sent').selectOption('tls')
    await dialog().getByLabel('Address or name', { exact: true }).fill('log.lan')
    await dialog().getByRole('button', { name: 'Save' }).click()
    await page.getByText('log.lan:6514, tls').waitFor()
    await card('Certificate').getByRole('button', { name: 'Change' }).click()
    const key = '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n'
    await dialog()
      .getByLabel('Certificate', { exact: false })
      .first()
      .fill('-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----\n')
    await dialog()
      .getByLabel(/^Private key/)
      .fill(key)
    machine.refusal = 'The key is not that of the certificate.'
    await dialog().getByRole('button', { name: 'Use it' }).click()
    await dialog().getByText('The key is not that of the certificate.').waitFor()
    expect(
      await dialog()
        .getByLabel(/^Private key/)
        .inputValue(),
    ).toBe(key)
    await expectFine(page)
    await dialog().getByRole('button', { name: 'Use it' }).click()
    await card('Certificate').getByText('Nordwerk CA').waitFor()
    expect(machine.asked.map(({ verb }) => verb)).toEqual([
      'time.set',
      'window.set',
      'remote_log.set',
      'certificate.put',
      'certificate.put',
    ])
  })

  test('an update of a stick is looked at before it waits for the window, and can be called off', async () => {
    const file = `${STICK}/gatehouse-update-1.4.3.tar`
    const modified_at = new Date().toISOString()
    machine.view = {
      ...machine.view,
      media: [
        {
          ...{ id: 'A1', label: 'GATEHOUSE', device: 'sda1', file_system: 'exfat', size: 32e9, path: STICK, said: '' },
          files: [
            { path: 'gatehouse-update-1.4.3.tar', kind: 'update', size: 188e6, modified_at },
            { path: 'b.tar.gz', kind: 'backup', size: 3e9, modified_at },
          ],
        },
      ],
    }
    await open()
    // what was read before is shown for some seconds
    const link = card('USB media').getByRole('link', { name: 'Look at it' })
    const isThere = async (): Promise<boolean> => {
      await page.reload()
      await card('USB media').waitFor()
      return link.isVisible()
    }
    await expect.poll(isThere, { timeout: 20_000, interval: 1000 }).toBe(true)
    await link.click()
    await page.getByRole('heading', { name: '1.4.2 to 1.4.3' }).waitFor()
    await page.getByText('Signed by Gatehouse release key, 51D0 9E3A.').waitFor()
    await card('Before it starts').getByText('2 jobs run').waitFor()
    await expectFine(page)
    await button('Install in the window, Saturday 02:00 to 05:00').click()
    await card('Updates').getByText('Gatehouse 1.4.3 waits for the window').waitFor()
    await button('Do not install it').click()
    await card('Updates').getByText('No update was installed yet.').waitFor()
    expect(machine.asked).toEqual([
      { verb: 'update.look', with: { file } },
      { verb: 'update.install', with: { file, when: 'window' } },
      { verb: 'update.cancel', with: {} },
    ])
  })

  test('an update file is sent from here, an older one is taken only when that is said, and a bad one is refused', async () => {
    const path = join(daemon.root, 'gatehouse-1.4.0.update')
    await writeFile(path, Buffer.alloc(300_000, 'x'))
    machine.update = file => ({ ...someUpdate(file), version: '1.4.0', is_older: true })
    await open()
    await page.getByLabel('Update file').setInputFiles(path)
    await page.getByRole('heading', { name: '1.4.2 to 1.4.0' }).waitFor()
    expect(await button('Install now').getAttribute('aria-disabled')).toBe('true')
    await page.getByLabel('It is older than 1.4.2').check()
    await button('Install now').click()
    await card('Updates').getByText('Gatehouse 1.4.0 is being installed').waitFor()
    expect(machine.asked.at(-1)).toEqual({
      verb: 'update.install',
      with: { file: join(machine.env.STATE_DIRECTORY, 'updates', 'gatehouse-1.4.0.update'), when: 'now', older: true },
    })
    machine.view = { ...machine.view, updates: { ...machine.view.updates, last: null } }
    machine.refusal = 'The signature is not that of the vendor: fetch the file again.'
    await page.getByText('No update was installed yet.').waitFor()
    await page.getByLabel('Update file').setInputFiles(path)
    await card('Updates').getByText('The signature is not that of the vendor: fetch the file again.').waitFor()
    await expectFine(page)
  })

  test('restarting says what it means, and powering off wants a word', async () => {
    await open()
    await button('Restart clamd').click()
    await dialog().getByText('It loads its signatures for about a minute.').waitFor()
    await dialog().getByRole('button', { name: 'Restart' }).click()
    await page.getByText('clamd is restarted').waitFor()
    await button('Power').click()
    await page.getByRole('menuitem', { name: 'Power off' }).click()
    await dialog().getByText('until somebody switches the machine on').waitFor()
    await expectFine(page)
    expect(await dialog().getByRole('button', { name: 'Power off' }).getAttribute('aria-disabled')).toBe('true')
    await page.keyboard.press('Escape')
    await button('Power').click()
    await page.getByRole('menuitem', { name: 'Restart' }).click()
    await dialog().getByText('No job is open.').waitFor()
    await dialog().getByRole('button', { name: 'Restart now' }).click()
    // the message, or the line of what is at work
    await page.getByText('The machine restarts', { exact: true }).first().waitFor()
    expect(machine.asked.map(({ verb }) => verb)).toEqual(['service.restart', 'power.restart'])
  })

  test('a machine that gives no answer is unknown and never good', async () => {
    const token = await daemon.setupAdmin()
    await daemon.call('POST', '/machine/network/keep', { token }) // the next look is a new one
    machine.raw = 'no json\n'
    await open()
    await page.getByText('Nothing is known of the machine.').waitFor()
    await expectFine(page)
    machine.raw = undefined
    await button('Try again').click()
    await page.getByRole('heading', { name: 'The machine is fine' }).waitFor()
  })

  test('where this is no appliance one calm page says so, and others than admins read whose it is', async () => {
    await signInAt(page, `${plain.url}/#/machine`)
    await page.getByText('This is not the appliance').waitFor()
    await card('What is known').getByText('Memory').waitFor()
    await expectFine(page)
    await page.goto(`${daemon.url}/#/machine`)
    await signInAt(page, `${daemon.url}/#/machine`, 'mila')
    await page.getByText('The machine belongs to admins').waitFor()
  })
})
