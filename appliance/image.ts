import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { sha256Of } from '../server/lib/digest-file.ts'
import { debianRoot, type Suite } from './debian-root.ts'
import { MASTER_BOOT_RECORD, writeDisk } from './disk.ts'
import { nameOfDisk, settleVmdk, writeOva } from './ova.ts'
import { insideOf, layOver } from './own-root.ts'

const HERE = import.meta.dirname

/** What an image comes as: for KVM and Proxmox, for VMware and VirtualBox, for a disk or stick of a machine. */
export const FORMATS = {
  'qcow2': (from: string, to: string) => ['qemu-img', 'convert', '-O', 'qcow2', '-c', from, to],
  'vmdk': (from: string, to: string) => [
    ...['qemu-img', 'convert', '-O', 'vmdk', '-o', 'subformat=streamOptimized', from, to],
  ],
  'raw.zst': (from: string, to: string) => ['zstd', '-q', '-T0', '-10', '--long=27', '-f', '-o', to, from],
  // the vmdk with what VMware and VirtualBox import as a whole machine
  'ova': undefined,
} as const
export type ImageFormat = keyof typeof FORMATS

/** Programs and files of the computer that builds → the Debian package that has each. */
export const TOOLS = {
  'faketime': 'faketime',
  'mcopy': 'mtools',
  'mmdebstrap': 'mmdebstrap',
  'qemu-img': 'qemu-utils',
  'sfdisk': 'fdisk',
  'syslinux': 'syslinux',
  [MASTER_BOOT_RECORD]: 'syslinux-common',
  'zstd': 'zstd',
} as const

export interface ImageOptions {
  readonly suite: Suite
  readonly bundle: string
  readonly out: string
  readonly cache: string
  readonly date: number
  readonly formats: readonly ImageFormat[]
  readonly say: (line: string) => void
}

function run([program = '', ...args]: readonly string[]): void {
  execFileSync(program, args, { stdio: ['ignore', 'ignore', 'inherit'] })
}

/** `HEX  NAME`, as sha256sum prints and checks. */
const digestLine = async (path: string): Promise<string> => `${await sha256Of(path)}  ${basename(path)}\n`

/** The root of an appliance with a kernel and boot loaders, over Debian's own. */
function provision(root: string, { bundle }: ImageOptions): void {
  const place = join(root, 'provision')
  mkdirSync(place)
  cpSync(HERE, place, { recursive: true })
  cpSync(bundle, join(place, basename(bundle)))
  const [program, args] = insideOf(root, ['/provision/provision.sh', '--image', `/provision/${basename(bundle)}`])
  execFileSync(program, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  rmSync(place, { recursive: true })
  execFileSync('cp', ['-r', '--no-preserve=ownership', `${join(HERE, 'disk/root')}/.`, root])
  const [systemctl, words] = insideOf(root, ['systemctl', '-q', 'enable', 'gatehouse-grow.service'])
  execFileSync(systemctl, words, { stdio: ['ignore', 'ignore', 'inherit'] })
}

interface Convert {
  readonly disk: string
  readonly name: string
  readonly version: string
  readonly work: string
  readonly part: string
  readonly date: number
}

async function convert(format: ImageFormat, { disk, name, version, work, part, date }: Convert): Promise<void> {
  if (format !== 'ova') {
    run(FORMATS[format](disk, part))
    if (format === 'vmdk') settleVmdk(part, `${name}.vmdk`)
    return
  }
  const vmdk = join(work, 'ova.vmdk')
  run(FORMATS.vmdk(disk, vmdk))
  settleVmdk(vmdk, nameOfDisk(name))
  const about = { name, version, capacity: statSync(disk).size, size: statSync(vmdk).size }
  await writeOva({ ...about, vmdk, work: join(work, 'ova'), out: part, date })
  rmSync(vmdk)
}

/** Builds the image. @returns the files that were made, `SHA256SUMS` last */
export async function buildImage(options: ImageOptions): Promise<string[]> {
  const { suite, cache, date, out, bundle, formats, say } = options
  const version = /^gatehouse-(.+)-linux-/.exec(basename(bundle))?.[1] ?? ''
  say(`Debian ${suite}, from the cache or the archive ...`)
  const debian = debianRoot({ suite, lists: ['service', 'system', 'boot'], cache })
  const work = mkdtempSync(join(tmpdir(), 'gatehouse-image-'))
  const own = layOver(debian, join(work, 'over'))
  try {
    say('The appliance in it ...')
    provision(own.folder, options)
    mkdirSync(out, { recursive: true })
    const name = `gatehouse-${version}-${process.arch}`
    const disk = join(work, `${name}.raw`)
    say('The disk ...')
    writeDisk({ root: own.folder, disk, work, version, date })
    const made: string[] = []
    for (const format of formats) {
      say(`${format} ...`)
      const file = join(out, `${name}.${format}`)
      await convert(format, { disk, name, version, work, part: `${file}.part`, date })
      rmSync(file, { force: true })
      run(['mv', `${file}.part`, file])
      made.push(file)
    }
    const sums = join(out, 'SHA256SUMS')
    writeFileSync(sums, (await Promise.all(made.map(digestLine))).join(''))
    return [...made, sums].filter(file => existsSync(file))
  } finally {
    own.close()
    rmSync(work, { recursive: true, force: true })
  }
}
