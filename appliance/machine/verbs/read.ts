import type { MachineView } from '../../../server/machine/protocol.ts'
import type { Ports } from '../ports.ts'
import { readWindow } from '../update/window.ts'
import { readCertificate } from './certificates.ts'
import { findingsOf } from './check.ts'
import { readDisks } from './disks.ts'
import { readHardware } from './hardware.ts'
import { readMedia } from './media.ts'
import { readNetwork } from './network-read.ts'
import { readRemoteLog } from './remote-log.ts'
import { readServices } from './services.ts'
import { readTime } from './time-read.ts'
import { readUpdates } from './update.ts'

/** Everything that the Machine screen shows. What cannot be looked at is said to be unknown, never good. */
export async function readMachine(ports: Ports): Promise<MachineView> {
  const [hardware, network, certificate, time, services, disks, media, remoteLog, findings, updates, window] =
    await Promise.all([
      readHardware(ports),
      readNetwork(ports),
      readCertificate(ports),
      readTime(ports),
      readServices(ports),
      readDisks(ports),
      readMedia(ports),
      readRemoteLog(ports),
      findingsOf(ports),
      readUpdates(ports),
      readWindow(ports),
    ])
  return {
    looked_at: ports.now().toISOString(),
    hardware,
    network,
    certificate,
    time,
    services,
    disks,
    media,
    updates,
    window,
    remote_log: remoteLog,
    findings,
  }
}
