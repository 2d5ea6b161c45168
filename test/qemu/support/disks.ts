import { mkdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { signUpdate } from '../../../appliance/sign-update.ts'
import { readPrivateKey } from '../../../electron/pack/sign.ts'
import { mustRun } from '../../support/tools.ts'

const MIB = 1024 ** 2

/** A disk that begins as the image and keeps what differs. */
export async function overlay(image: string, file: string): Promise<string> {
  await mustRun('qemu-img', ['create', '-q', '-f', 'qcow2', '-b', image, '-F', 'qcow2', file])
  return file
}

/** A stick as it is sold: one partition of FAT. @param files  name → path of what it holds */
export async function stickOf(path: string, label: string, files: Readonly<Record<string, string>>): Promise<string> {
  await writeFile(path, '')
  await truncate(path, 256 * MIB)
  await mustRun('sh', ['-c', `echo 'start=2048, type=c' | sfdisk -q --label dos '${path}'`])
  const at = `${path}@@${MIB}`
  await mustRun('mformat', [
    '-i',
    at,
    '-F',
    '-v',
    label,
    '-T',
    String((255 * MIB) / 512),
    '-h',
    '255',
    '-s',
    '63',
    '::',
  ])
  for (const [name, from] of Object.entries(files)) await mustRun('mcopy', ['-i', at, from, `::/${name}`])
  return path
}

/** The bundle as a later version, whose page of a start that lasts says so, signed. */
export async function laterUpdate(
  { bundle, key, work }: { readonly bundle: string; readonly key: string; readonly work: string },
  version: string,
): Promise<string> {
  const folder = join(work, 'later')
  await mkdir(folder)
  await mustRun('tar', ['--zstd', '-C', folder, '-xf', bundle])
  const facts = await readFile(join(folder, 'release'), 'utf8')
  await writeFile(join(folder, 'release'), facts.replace(/^APP_VERSION=.*$/m, `APP_VERSION=${version}`))
  const page = join(folder, 'appliance/root/usr/share/gatehouse/starting.html')
  await writeFile(page, (await readFile(page, 'utf8')).replace('</h1>', ` ${version}</h1>`))
  const later = join(work, `gatehouse-${version}-linux-x64.tar.zst`)
  await mustRun('tar', ['--use-compress-program=zstd -q -3', '-C', folder, '-cf', later, '.'])
  await rm(folder, { recursive: true })
  return signUpdate({
    ...{ bundle: later, key: await readPrivateKey(key), out: work, madeAt: new Date().toISOString() },
    ...{ changes: ['fix: nothing'], updatesFrom: '0.0.0' },
  })
}
