export type ImportKeyKind = 'openpgp' | 'rsa'

/** A key that comes with the product: `name` is the primary key's fingerprint, or the file name of an APK key. */
export interface VendorKeyRow {
  readonly name: string
  readonly kind: ImportKeyKind
  readonly label: string
}

const openpgp = (label: string, name: string): VendorKeyRow => ({ kind: 'openpgp', label, name })
const rsa = (label: string, id: string): VendorKeyRow => ({
  kind: 'rsa',
  label,
  name: `alpine-devel@lists.alpinelinux.org-${id}.rsa.pub`,
})

/** The keys of the vendors whose distributions are served here. Their text is in `vendor-keys.json`. */
export const VENDOR_KEYS = {
  debian11: openpgp('Debian 11', '1F89983E0081FDE018F3CC9673A4F27B8DD47936'),
  debian11security: openpgp('Debian 11 security', 'AC530D520F2F3269F5E98313A48449044AAD5C5D'),
  debian11stable: openpgp('Debian 11 stable release', 'A4285295FC7B1A81600062A9605C66F00D6C9793'),
  debian12: openpgp('Debian 12', 'B8B80B5B623EAB6AD8775C45B7C5D7D6350947F8'),
  debian12security: openpgp('Debian 12 security', '05AB90340C0C5E797F44A8C8254CF3B5AEC0A8F0'),
  debian12stable: openpgp('Debian 12 stable release', '4D64FEC119C2029067D6E791F8D2585B8783D481'),
  debian13: openpgp('Debian 13', '04B54C3CDCA79751B16BC6B5225629DF75B188BD'),
  debian13security: openpgp('Debian 13 security', '5E04A1E3223A19A20706E20F9904613D4CCE68C6'),
  debian13stable: openpgp('Debian 13 stable release', '41587F7DB8C774BCCF131416762F67A0B2C39DE4'),
  ubuntu2012: openpgp('Ubuntu archive 2012', '790BC7277767219C42C86F933B4FE6ACC0B21F32'),
  ubuntu2018: openpgp('Ubuntu archive 2018', 'F6ECB3762474EDA9D21B7022871920D1991BC93C'),
  almalinux8: openpgp('AlmaLinux 8', 'BC5EDDCADF502C077F1582882AE81E8ACED7258B'),
  almalinux9: openpgp('AlmaLinux 9', 'BF18AC2876178908D6E71267D36CB86CB86B3716'),
  almalinux10: openpgp('AlmaLinux 10', 'EE6DB7B98F5BF5EDD9DA0DE5DEE5C11CC2A1E572'),
  rocky8: openpgp('Rocky Linux 8', '7051C470A929F454CEBE37B715AF5DAC6D745A60'),
  rocky9: openpgp('Rocky Linux 9', '21CB256AE16FC54C6E652949702D426D350D275D'),
  rocky10: openpgp('Rocky Linux 10', 'FC226859C0860BF0DDB95B085B106C736FEDFC85'),
  centos: openpgp('CentOS', '99DB70FAE1D7CE227FB6488205B555B38483C65D'),
  centosExtras: openpgp('CentOS Extras', '363FC0972F64B699AED3968E1FF6A2171D997668'),
  oracle8: openpgp('Oracle Linux 8', '76FD3DB13AB67410B89DB10E82562EA9AD986DA3'),
  oracle9: openpgp('Oracle Linux 9 and 10', '3E6D826D3FBAB389C2F38E34BC4D06A08D8B756F'),
  epel8: openpgp('EPEL 8', '94E279EB8D8F25B21810ADF121EA45AB2F86D6A1'),
  epel9: openpgp('EPEL 9', 'FF8AD1344597106ECE813B918A3872BF3228467C'),
  epel10: openpgp('EPEL 10', '7D8D15CBFC4E62688591FB2633D98517E37ED158'),
  fedora40: openpgp('Fedora 40', '115DF9AEF857853EE8445D0A0727707EA15B79CC'),
  fedora43: openpgp('Fedora 43', 'C6E7F081CF80E13146676E88829B606631645531'),
  fedora44: openpgp('Fedora 44', '36F612DCF27F7D1A48A835E4DBFCF71C6D9F90A6'),
  fedora45: openpgp('Fedora 45', '4F50A6114CD5C6976A7F1179655A4B02F577861E'),
  opensuse: openpgp('openSUSE', 'AD485664E901B867051AB15F35A2F86E29B700A4'),
  leapSle: openpgp('SUSE packages in openSUSE Leap', '7F009157B127B994D5CFBE76F74F09BC3FA1D6CE'),
  leapBackports: openpgp('openSUSE Backports', 'F044C2C507A1262B538AAADD8A49EB0325DB7AE0'),
  leap16Backports: openpgp('openSUSE Backports 16', 'BF3F9A67D3A2FF98A73F5E07488C583D287A0027'),
  alpineX86: rsa('Alpine x86_64', '6165ee59'),
  alpineArm: rsa('Alpine aarch64', '616ae350'),
} as const satisfies Readonly<Record<string, VendorKeyRow>>

export type VendorKeyId = keyof typeof VENDOR_KEYS
