/**
 * The one style of a report's page. Colours differ in lightness too, and states carry a sign: a grey print tells them
 * apart. On paper everything is black on white, and a monitor stays on one page.
 */
export const REPORT_STYLE = `
:root{
color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--line:#d0d7de;--paper:#fff;
--up:#5cb877;--degraded:#f2c14e;--down:#b3202a;--unknown:#a9b1ba;--none:#eceff2;--on-down:#fff;--on-other:#1b1f24
}
@media (prefers-color-scheme:dark){:root{
--ink:#e6edf3;--soft:#9aa4af;--line:#3a424c;--paper:#12161b;
--up:#3f9d5a;--degraded:#d9a62e;--down:#e5484d;--unknown:#6b7580;--none:#232a32;--on-down:#fff;--on-other:#0b0e11
}}
*{box-sizing:border-box}
body{
margin:0 auto;max-width:76rem;padding:2rem 1.5rem;background:var(--paper);color:var(--ink);
font:1rem/1.5 system-ui,sans-serif;font-variant-numeric:tabular-nums
}
h1{font-size:1.75rem;line-height:1.2;margin:0}
h2{font-size:1.25rem;margin:2.5rem 0 .75rem}
h3{font-size:1.05rem;margin:0;overflow-wrap:anywhere}
p{margin:.35rem 0}
.soft{color:var(--soft)}
.small{font-size:.85rem}
.figures{display:flex;flex-wrap:wrap;gap:.75rem 2.5rem;margin:1.5rem 0 0;padding:0}
.figures div{min-width:6rem}
.figures dt{color:var(--soft);font-size:.85rem}
.figures dd{margin:0;font-size:1.35rem;font-weight:600}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.85rem}
th,td{text-align:left;vertical-align:top;padding:.3rem .6rem .3rem 0;border-bottom:1px solid var(--line)}
th{font-weight:600;color:var(--soft)}
td.name{overflow-wrap:anywhere;min-width:9rem}
.number{text-align:right;white-space:nowrap}
.when{white-space:nowrap}
.missed{font-weight:700}
.monitor{border-top:1px solid var(--line);padding:1rem 0 1.25rem;break-inside:avoid}
.monitors{font-size:.8rem}
.monitor table{margin-top:.5rem}
svg{display:block;width:100%;height:auto;max-width:45rem;margin-top:.5rem}
svg text{fill:var(--soft);font:10px system-ui,sans-serif}
.legend{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;list-style:none;margin:.5rem 0;padding:0}
.legend li{display:flex;align-items:center;gap:.4rem}
.legend svg{width:1rem;margin:0}
.up{fill:var(--up)}.degraded{fill:var(--degraded)}.down{fill:var(--down)}
.unknown,.pending,.paused,.maintenance{fill:var(--none)}
.hatch{stroke:var(--unknown);stroke-width:1.5}.absent{fill:var(--none)}
svg .sign{fill:var(--on-other);font-weight:700;text-anchor:middle}
svg .sign-down{fill:var(--on-down)}
.axis{stroke:var(--line);fill:none}
.p50,.p95,.p99{fill:none;stroke:var(--ink);stroke-width:1.5;stroke-linejoin:round}
.p95{stroke-dasharray:6 3}.p99{stroke-dasharray:1.5 2.5}
.dot{stroke-dasharray:none;fill:var(--ink);stroke:none}
.end{text-anchor:end}.middle{text-anchor:middle}
@page{size:A4;margin:16mm 14mm;@bottom-right{content:counter(page) " / " counter(pages);font:8pt system-ui,sans-serif}}
@media print{
:root{
color-scheme:light;--ink:#000;--soft:#000;--line:#999;--paper:#fff;
--up:#8fcfa1;--degraded:#f2c14e;--down:#9b1c1c;--unknown:#c4c4c4;--none:#f0f0f0;--on-down:#fff;--on-other:#000
}
body{max-width:none;padding:0;font-size:10pt}
h1{font-size:18pt}h2{font-size:13pt;break-after:avoid}h3{font-size:11pt;break-after:avoid}
table,.monitors{font-size:8pt}thead{display:table-header-group}
tr,.figures,.legend{break-inside:avoid}.legend{break-after:avoid}
.wide{overflow:visible}
a{color:inherit;text-decoration:none}
}`;
