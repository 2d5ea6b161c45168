import { spawn, type ChildProcess } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type AddressInfo } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { mustRun } from './tools.ts'

/** A real sshd on 127.0.0.1, with a host key of its own and no PAM. */
export interface TestSshd {
  readonly port: number
  /** Who may log in: whoever runs the test. */
  readonly user: string
  fingerprint(): Promise<string>
  /** Lets this public key in, and no other. */
  allow(publicKey: string): Promise<void>
  /** Starts it again with a new host key. */
  changeHostKey(): Promise<void>
  close(): Promise<void>
}

const SSHD = '/usr/sbin/sshd'

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}

/** Whether it greets: a connection alone may be one to its listener before it has read its config. */
const greets = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    socket.once('data', () => socket.destroy())
    socket.once('close', () => resolve(socket.bytesRead > 0))
    socket.once('error', () => resolve(false))
  })

/** @param command  what every login runs, whatever it asks for; absent: what it asks for */
export async function startSshd({ command }: { readonly command?: string } = {}): Promise<TestSshd> {
  const folder = await mkdtemp(join(tmpdir(), 'gh-sshd-'))
  const port = await freePort()
  const [config, hostKey, allowed] = ['sshd_config', 'host_key', 'authorized_keys'].map(name => join(folder, name)) as [
    string,
    string,
    string,
  ]
  await mkdir('/run/sshd', { recursive: true }).catch(() => undefined) // only root's needs it
  await writeFile(allowed, '')
  await writeFile(
    config,
    [
      'ListenAddress 127.0.0.1',
      `Port ${port}`,
      `HostKey ${hostKey}`,
      `AuthorizedKeysFile ${allowed}`,
      `PidFile ${join(folder, 'sshd.pid')}`,
      'UsePAM no',
      'StrictModes no',
      'MaxStartups 100',
      'PermitRootLogin yes',
      ...(command === undefined ? [] : [`ForceCommand ${command}`]),
      '',
    ].join('\n'),
  )
  const makeKey = async (): Promise<void> => {
    await rm(hostKey, { force: true })
    await mustRun('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', hostKey])
  }
  let child: ChildProcess | undefined
  async function start(): Promise<void> {
    child = spawn(SSHD, ['-D', '-f', config, '-E', join(folder, 'log')], { stdio: 'ignore' })
    for (let n = 0; n < 400; n++) {
      if (await greets(port)) return
      await new Promise(resolve => setTimeout(resolve, 25))
    }
    throw new Error(`sshd does not answer:\n${await readFile(join(folder, 'log'), 'utf8').catch(() => '')}`)
  }
  async function stop(): Promise<void> {
    const running = child
    if (running === undefined || running.exitCode !== null) return
    const ended = new Promise(resolve => running.once('exit', resolve))
    running.kill('SIGTERM')
    await ended
  }
  await makeKey()
  await start()
  return {
    port,
    user: userInfo().username,
    fingerprint: async () => (await mustRun('ssh-keygen', ['-lf', hostKey])).split(' ')[1] ?? '',
    allow: publicKey => writeFile(allowed, `${publicKey}\n`),
    async changeHostKey() {
      await stop()
      await makeKey()
      await start()
    },
    async close() {
      await stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
